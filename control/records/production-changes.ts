// The times at which a project's production changed to another deployment. Analytics marks these times in its charts.
import type { Sql, Transaction } from '#postgres/sql.ts';

const CHANGES_MAX = 100;

/** Records that a deployment becomes production, unless it already is production. Called before the pointer moves. */
export async function addProductionChange(
  tx: Transaction,
  projectId: string,
  deploymentId: string,
  { isRollback }: { readonly isRollback: boolean },
): Promise<void> {
  await tx`
    INSERT INTO control.production_change (project_id, deployment_id, is_rollback)
    SELECT id, ${deploymentId}, ${isRollback} FROM control.project
    WHERE id = ${projectId} AND production_deployment_id IS DISTINCT FROM ${deploymentId}`;
}

/** The last 100 changes of a period, oldest first. */
export async function readProductionChanges(
  sql: Sql,
  projectId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
) {
  const rows = await sql<{ at: Date; deployment_id: string; commit_sha: string | null; is_rollback: boolean }[]>`
    SELECT at, deployment_id, commit_sha, is_rollback
    FROM control.production_change AS change JOIN control.deployment ON deployment.id = deployment_id
    WHERE change.project_id = ${projectId} AND at >= ${from} AND at < ${to}
    ORDER BY at DESC, change.id DESC LIMIT ${CHANGES_MAX}`;
  return rows.toReversed().map((row) => ({
    at: row.at.toISOString(),
    deploymentId: row.deployment_id,
    commitSha: row.commit_sha,
    isRollback: row.is_rollback,
  }));
}
