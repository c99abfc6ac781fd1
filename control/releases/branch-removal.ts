// Removes a branch: its deployments leave the route record, and once no engine routes to them, its databases, state,
// files and messages are deleted. An interrupted removal is finished later: the branch's row records the remaining
// work.
import type { PlatformError } from '#core/errors.ts';
import { Failure } from '#core/failure.ts';
import { runRounds } from '#core/process/rounds.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { supersede } from './create-deployment.ts';
import { removeBranchData } from './engines.ts';
import type { Audit } from './audit-entries.ts';
import { withProject } from './project-lock.ts';
import { touchRoute, untilRouted, writeRoute } from './project-routes.ts';

const LOCK_WAIT_MS = 20_000;
const POLL_MS = 60_000;

/** Why a branch is removed. */
type RemovalCause = 'branch_deleted' | 'pull_request_closed' | 'by_hand';

/** Result of a removal. */
interface RemovedBranch {
  readonly branch: string;
  /** Number of deployments that are no longer served. */
  readonly deployments: number;
  /** Number of deleted items by kind; null if no engine was available, so that the items are deleted later. */
  readonly removed: Readonly<Record<string, number>> | null;
}

/**
 * Removes a branch.
 *
 * @throws {ApiError} `not_found`; `conflict` for the production branch.
 */
export function removeBranch(
  deps: Dependencies,
  given: { readonly projectId: string; readonly branch: string; readonly cause: RemovalCause },
  audit: Audit,
): Promise<RemovedBranch> {
  const { projectId, branch, cause } = given;
  return withProject(deps, projectId, LOCK_WAIT_MS, async () => {
    const deployments = await deps.sql.begin(async (tx) => {
      const [project] = await tx<{ organization_id: string; is_production: boolean }[]>`
        SELECT p.organization_id, (p.default_branch = ${branch} OR coalesce(d.branch = ${branch}, false)
          OR EXISTS (SELECT FROM control.deployment s WHERE s.id = p.split->>'deploymentId' AND s.branch = ${branch}))
          AS is_production
        FROM control.project p LEFT JOIN control.deployment d ON d.id = p.production_deployment_id
        WHERE p.id = ${projectId} AND p.deleted_at IS NULL FOR UPDATE OF p`;
      if (project === undefined) throw new ApiError('not_found');
      if (project.is_production)
        throw new ApiError('conflict', { reason: `${branch} is the production branch, which cannot be removed` });
      await supersede(tx, projectId, branch, 'branch_removed');
      const [found] = await tx`
        UPDATE control.branch SET removed_at = now(), deployment_id = NULL, removal = NULL, updated_at = now()
        WHERE project_id = ${projectId} AND name = ${branch} AND removed_at IS NULL RETURNING name`;
      // If an earlier removal was interrupted, finish it.
      if (found === undefined) {
        const [rest] = await tx`
          SELECT FROM control.branch WHERE project_id = ${projectId} AND name = ${branch} AND removal IS NULL`;
        if (rest === undefined) throw new ApiError('not_found');
      }
      const removed = await tx<{ id: string }[]>`
        UPDATE control.deployment SET removed_at = now(), updated_at = now()
        WHERE project_id = ${projectId} AND branch = ${branch} AND removed_at IS NULL RETURNING id`;
      await tx`
        UPDATE control.job SET cancel_reason = 'branch_removed'
        WHERE kind = 'release' AND project_id = ${projectId} AND branch = ${branch}`;
      await tx`
        UPDATE control.project
        SET production_history = array(SELECT id FROM unnest(production_history) id WHERE id <> ALL(${removed.map(({ id }) => id)}))
        WHERE id = ${projectId}`;
      await touchRoute(tx, projectId);
      await audit(tx, {
        organizationId: project.organization_id,
        projectId,
        action: 'branch.remove',
        subjectKind: 'branch',
        subjectId: branch,
        details: { cause, deployments: removed.length },
      });
      return removed.length;
    });
    await writeRoute(deps, projectId);
    return { branch, deployments, removed: await removeData(deps, projectId, branch) };
  });
}

/** Finishes the removal of a branch that is about to be deployed again, so that it starts empty. */
export async function finishBranchRemoval(deps: Dependencies, projectId: string, branch: string): Promise<void> {
  const [waiting] = await deps.sql`
    SELECT FROM control.branch
    WHERE project_id = ${projectId} AND name = ${branch} AND removed_at IS NOT NULL AND removal IS NULL`;
  if (waiting === undefined) return;
  // If the branch is in the route record again, engines refuse to delete its data, and it is kept.
  if ((await removeData(deps, projectId, branch)) === null)
    throw new Failure('engines_away', 'The branch is still being removed');
}

/** Finishes interrupted removals until the process ends. */
export function finishBranchRemovals(deps: Dependencies): Promise<void> {
  const { sql, stopping, log } = deps;
  return runRounds(deps, { failure: 'Removed branches could not be read', pollMs: POLL_MS }, async () => {
    const waiting = await sql<{ project_id: string; name: string }[]>`
      SELECT b.project_id, b.name FROM control.branch b JOIN control.project p ON p.id = b.project_id
      WHERE b.removed_at IS NOT NULL AND b.removal IS NULL AND p.deleted_at IS NULL LIMIT 100`;
    for (const { project_id: projectId, name } of waiting) {
      if (stopping.aborted) return;
      await withProject(deps, projectId, 0, async () => {
        await writeRoute(deps, projectId);
        await removeData(deps, projectId, name);
      }).catch((error: unknown) =>
        log.warn({ err: error, project: projectId, branch: name }, 'Branch not removed yet'),
      );
    }
  });
}

/** @returns null if no engine is available. */
async function removeData(
  deps: Dependencies,
  projectId: string,
  branch: string,
): Promise<Readonly<Record<string, number>> | null> {
  const { sql, log } = deps;
  const [row] = await sql<{ name: string; resources: Record<string, Record<string, string>> }[]>`
    SELECT p.name, b.resources FROM control.branch b JOIN control.project p ON p.id = b.project_id
    WHERE b.project_id = ${projectId} AND b.name = ${branch} AND b.removed_at IS NOT NULL`;
  if (row === undefined) return {};
  try {
    if (!(await untilRouted(deps, projectId))) return null;
    const removed = await removeBranchData(deps, row.name, branch, row.resources);
    await sql`
      UPDATE control.branch SET removal = ${sql.json(removed)}, resources = '{}', updated_at = now()
      WHERE project_id = ${projectId} AND name = ${branch} AND removed_at IS NOT NULL`;
    return removed;
  } catch (error) {
    log.warn({ err: error, code: (error as PlatformError).code, project: row.name, branch }, 'Branch not removed yet');
    return null;
  }
}
