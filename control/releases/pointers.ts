// Where production and the URLs of branches lead. Moved in the transaction of whoever releases, promotes or rolls back.
import type { Transaction } from '#postgres/sql.ts';

/** Former production deployments that are remembered. */
const HISTORY_MAX = 100;

/** A project's pointer as it is. */
export interface ProductionPointer {
  readonly production_deployment_id: string | null;
  readonly production_history: readonly string[];
}

/** Makes a deployment production; what was it before is what a rollback goes back to. */
export async function pointProduction(
  tx: Transaction,
  projectId: string,
  before: ProductionPointer,
  id: string,
): Promise<void> {
  const last = before.production_deployment_id;
  const history = before.production_history.filter((earlier) => earlier !== id && earlier !== last);
  if (last !== null && last !== id) {
    history.push(last);
    await tx`UPDATE control.deployment SET superseded_at = now() WHERE id = ${last}`;
  }
  await tx`
    UPDATE control.project SET production_deployment_id = ${id}, production_history = ${history.slice(-HISTORY_MAX)},
      split = NULL
    WHERE id = ${projectId}`;
}

/** Makes an earlier deployment production again: what is left is not gone back to, nor served to its pages. */
export async function rollBackProduction(
  tx: Transaction,
  projectId: string,
  to: { readonly id: string; readonly branch: string },
  history: readonly string[],
  left: readonly string[],
): Promise<void> {
  await tx`
    UPDATE control.project SET production_deployment_id = ${to.id}, production_history = ${[...history]}, split = NULL
    WHERE id = ${projectId}`;
  await pointBranch(tx, projectId, to.branch, to.id);
  await tx`UPDATE control.deployment SET superseded_at = NULL WHERE id = ANY(${[...left]})`;
}

/** Has a branch's URL lead to a deployment. */
export async function pointBranch(tx: Transaction, projectId: string, branch: string, id: string): Promise<void> {
  await tx`
    UPDATE control.deployment SET superseded_at = now()
    WHERE id = (SELECT deployment_id FROM control.branch WHERE project_id = ${projectId} AND name = ${branch})
      AND id <> ${id}`;
  await tx`
    INSERT INTO control.branch (project_id, name, deployment_id) VALUES (${projectId}, ${branch}, ${id})
    ON CONFLICT (project_id, name)
    DO UPDATE SET deployment_id = ${id}, removed_at = NULL, removal = NULL, updated_at = now()`;
}
