// Pointers: which deployment is production, and which deployment each branch URL serves. They are updated in the
// transaction of a release, promotion or rollback.
import type { Transaction } from '#postgres/sql.ts';
import { addProductionChange } from '../records/production-changes.ts';
import { endGuarded, runningGuarded } from './guarded/changes.ts';

/** Number of former production deployments to remember. */
const HISTORY_MAX = 100;

/** A project's current pointer. */
export interface ProductionPointer {
  readonly production_deployment_id: string | null;
  readonly production_history: readonly string[];
}

/**
 * Makes a deployment production and adds the former one to the history for rollbacks. Ends a guarded release that runs,
 * whether it is of this deployment or not.
 */
export async function pointProduction(
  tx: Transaction,
  projectId: string,
  before: ProductionPointer,
  id: string,
): Promise<void> {
  const isGuarded = (await runningGuarded(tx, projectId)) === id;
  await endGuarded(
    tx,
    projectId,
    isGuarded ? 'promoted' : 'canceled',
    isGuarded ? 'Promoted by hand' : `${id} became production`,
  );
  const last = before.production_deployment_id;
  const history = before.production_history.filter((earlier) => earlier !== id && earlier !== last);
  if (last !== null && last !== id) {
    history.push(last);
    await tx`UPDATE control.deployment SET superseded_at = now() WHERE id = ${last}`;
  }
  await addProductionChange(tx, projectId, id, { isRollback: false });
  await tx`
    UPDATE control.project SET production_deployment_id = ${id}, production_history = ${history.slice(-HISTORY_MAX)},
      split = NULL
    WHERE id = ${projectId}`;
}

/**
 * Makes an earlier deployment production again. The deployments that followed leave the history, and are no longer
 * served to pages loaded from them.
 */
export async function rollBackProduction(
  tx: Transaction,
  projectId: string,
  to: { readonly id: string; readonly branch: string },
  history: readonly string[],
  left: readonly string[],
): Promise<void> {
  await endGuarded(tx, projectId, 'canceled', 'Rolled back by hand');
  await addProductionChange(tx, projectId, to.id, { isRollback: true });
  await tx`
    UPDATE control.project SET production_deployment_id = ${to.id}, production_history = ${[...history]}, split = NULL
    WHERE id = ${projectId}`;
  await pointBranch(tx, projectId, to.branch, to.id);
  await tx`UPDATE control.deployment SET superseded_at = NULL WHERE id = ANY(${[...left]})`;
}

/** Points a branch's URL to a deployment. */
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
