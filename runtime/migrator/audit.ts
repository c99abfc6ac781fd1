// The rows of `control.database_migration_audit`: one per migration and run. A row is inserted before the migration is
// applied, and completed afterwards, so that no row is missing if the process dies. Called by attempt.ts.
import { Failure } from '#core/failure.ts';
import type { Sql } from '#postgres/sql.ts';
import type { ClaimedRun } from './claims.ts';

/** A migration in a run. */
export interface AuditedMigration {
  /** The database's name in platform.yaml. */
  readonly resource: string;
  readonly file: string;
  /** SHA-256 of the migration's text. */
  readonly hash: string;
}

const MESSAGE_CHARS_MAX = 4000;

/**
 * Records that a migration will be applied next, and verifies the lease, in one step.
 *
 * @param member the process. @throws {Failure} `lease_lost`
 */
export async function beginMigration(
  sql: Sql,
  run: ClaimedRun,
  { resource, file, hash }: AuditedMigration,
  member: string,
  leaseMs: number,
): Promise<void> {
  await sql.begin(async (tx) => {
    const [held] = await tx`
      UPDATE control.migration_run SET lease_until = now() + ${leaseMs} * interval '1 ms'
      WHERE id = ${run.id} AND lease = ${run.lease} AND status = 'running' RETURNING id`;
    if (held === undefined) throw new Failure('lease_lost', `The lease of ${run.id} is lost`);
    await tx`
      INSERT INTO control.database_migration_audit (project_id, run_id, deployment_id, resource, branch, filename,
        sha256, result, requested_by, applied_by, attempt)
      VALUES (${run.projectId}, ${run.id}, ${run.deploymentId}, ${resource}, ${run.branch}, ${file}, ${hash},
        'running', ${run.requestedBy}, ${member}, ${run.attempt})
      ON CONFLICT (run_id, resource, filename) DO UPDATE
        SET result = 'running', applied_by = excluded.applied_by, attempt = excluded.attempt, started_at = now(),
          finished_at = NULL, duration_ms = NULL, error_message = NULL`;
  });
}

/** Records its result. @param ms the duration; null if it was not measured. */
export async function endMigration(
  sql: Sql,
  run: ClaimedRun,
  { resource, file }: Pick<AuditedMigration, 'resource' | 'file'>,
  { error, ms }: { readonly error: string | null; readonly ms: number | null },
): Promise<void> {
  await sql`
    UPDATE control.database_migration_audit
    SET result = ${error === null ? 'applied' : 'failed'}, error_message = ${error && textOf(error)},
      finished_at = now(), duration_ms = ${ms === null ? null : Math.round(ms)}
    WHERE run_id = ${run.id} AND resource = ${resource} AND filename = ${file} AND result = 'running'`;
}

/** Records that an interrupted attempt has applied these migrations, according to the database. */
export async function settleMigrations(
  sql: Sql,
  run: ClaimedRun,
  resource: string,
  applied: readonly string[],
): Promise<void> {
  if (run.attempt === 1 || applied.length === 0) return;
  await sql`
    UPDATE control.database_migration_audit SET result = 'applied', finished_at = now()
    WHERE run_id = ${run.id} AND resource = ${resource} AND result = 'running' AND filename = ANY(${[...applied]})`;
}

/** Records a migration that is in the database with another text. */
export async function noteChange(
  sql: Sql,
  run: ClaimedRun,
  { resource, file, hash }: AuditedMigration,
  message: string,
  member: string,
): Promise<void> {
  await sql`
    INSERT INTO control.database_migration_audit (project_id, run_id, deployment_id, resource, branch, filename,
      sha256, result, error_message, requested_by, applied_by, attempt, finished_at)
    VALUES (${run.projectId}, ${run.id}, ${run.deploymentId}, ${resource}, ${run.branch}, ${file}, ${hash},
      'changed', ${textOf(message)}, ${run.requestedBy}, ${member}, ${run.attempt}, now())
    ON CONFLICT (run_id, resource, filename) DO NOTHING`;
}

/** Records that the result is unknown, because no attempt is left that could determine it. */
export async function giveUpMigrations(sql: Sql, run: ClaimedRun, message: string): Promise<void> {
  await sql`
    UPDATE control.database_migration_audit
    SET result = 'failed', error_message = ${textOf(message)}, finished_at = now()
    WHERE run_id = ${run.id} AND result = 'running'`;
}

/** NUL is removed, because text in Postgres cannot contain it. */
function textOf(message: string): string {
  return message.slice(0, MESSAGE_CHARS_MAX).replaceAll('\0', '');
}
