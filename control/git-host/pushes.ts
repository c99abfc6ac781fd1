// Handles updated and deleted branches: creates a deployment in every connected project, or removes the branch.
// Deliveries may arrive twice, late or out of order; repeating a delivery has no effect.
import { isFailure } from '#core/failure.ts';
import type { AboutRepository, BranchDeletion, Push } from '#git/host/delivery.ts';
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import { removeBranch } from '../releases/branch-removal.ts';
import { createDeployment, supersede } from '../releases/create-deployment.ts';
import { systemAudit } from '../releases/audit-entries.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newDeploymentId } from '../records/ids.ts';
import { projectsOfHosted, type ConnectedProject } from './connected-projects.ts';
import type { StoredDelivery } from './delivery.ts';
import { isOvertaken, skipReason, type PushOrder } from './push-rules.ts';
import { currentRepository } from './token-repositories.ts';

/** Maximum number of other pushes of the branch that a push is compared with. */
const OTHERS_MAX = 50;
/** The host reports a deleted branch twice, within this many seconds. */
const TOLD_TWICE_SECONDS = 60;
/** Old deliveries are deleted, so an older push could be a repetition of a deleted delivery. */
const AGE_DAYS_MAX = 60;

/** @returns the result, stored with the delivery */
export async function handlePush(deps: Dependencies, push: Push, stored: StoredDelivery): Promise<string> {
  if (push.pushedAt !== 0 && Date.now() / 1000 - push.pushedAt > AGE_DAYS_MAX * 86_400) return 'too old';
  const tip = await tipOf(deps, push);
  const projects = await projectsOfHosted(deps.sql, push);
  if (projects.length === 0) return 'no project';
  if (tip === undefined ? await isOlder(deps, push, stored) : tip !== null && tip !== push.after) return 'overtaken';
  const outcomes: string[] = [];
  for (const project of projects)
    outcomes.push(
      push.after === null
        ? await removeUnlessProduction(deps, project, push.branch, 'branch_deleted')
        : await deployPush(deps, { ...push, after: push.after }, project, projects, stored.receivedAt),
    );
  return [...new Set(outcomes)].join(', ');
}

/** Whether a later push of the branch was received before this push. */
async function isOlder({ sql }: Dependencies, push: Push, { subject, deliveryId }: StoredDelivery): Promise<boolean> {
  const others = await sql<{ details: PushOrder }[]>`
    SELECT details FROM control.webhook_received
     WHERE subject = ${subject} AND event = 'push' AND delivery_id <> ${deliveryId}
     ORDER BY seq DESC LIMIT ${OTHERS_MAX}`;
  return isOvertaken(
    push,
    others.map(({ details }) => details),
  );
}

/**
 * The branch's commit on a host that is used with a token. Hosts that are used with tokens do not report the time of a
 * push, so the current commit of the branch decides which push is the last, even for a repeated delivery. Null if the
 * branch was deleted. Undefined for another kind of host, or if the host refuses the token, which the deployment then
 * reports.
 */
async function tipOf(
  deps: Dependencies,
  { gitHostId, repositoryId, branch }: AboutRepository & { readonly branch: string },
): Promise<string | null | undefined> {
  if (gitHostId === undefined) return undefined;
  const current = await currentRepository(deps, { gitHostId, repositoryId });
  try {
    return await current?.access.readHead(current.repository, branch);
  } catch (error) {
    if (isFailure(error, 'git_host') && error.reason === 'refused') return undefined;
    throw error;
  }
}

async function deployPush(
  deps: Dependencies,
  push: Push & { readonly after: string },
  project: ConnectedProject,
  all: readonly ConnectedProject[],
  receivedAt: Date,
): Promise<string> {
  const { sql } = deps;
  const { branch, after: commit, message, author } = push;
  // A process may have died between creating the deployment and recording the result.
  const [made] = await sql`
    SELECT FROM control.deployment WHERE project_id = ${project.id} AND branch = ${branch} AND commit_sha = ${commit}
       AND source = 'push' AND created_at >= ${receivedAt}`;
  if (made !== undefined) return 'deployed';
  const [known] = await sql<{ pull_request: number | null }[]>`
    SELECT pull_request FROM control.branch WHERE project_id = ${project.id} AND name = ${branch}`;
  const pullRequest = known?.pull_request ?? null;
  const given = { projectId: project.id, branch, commit, message, author, pullRequest };
  const reason = skipReason(
    push,
    project,
    all.map(({ configPath }) => configPath),
  );
  if (reason !== null) {
    await recordSkipped(sql, project, { ...given, reason });
    return 'skipped';
  }
  await createDeployment(deps, { ...given, source: 'push', createdBy: null });
  return 'deployed';
}

/**
 * Inserts a row with the reason why a commit is not deployed. Running and queued deployments of the branch continue.
 */
async function recordSkipped(
  sql: Sql,
  project: ConnectedProject,
  given: {
    readonly branch: string;
    readonly commit: string;
    readonly message: string;
    readonly author: string;
    readonly pullRequest: number | null;
    readonly reason: string;
  },
): Promise<void> {
  const id = newDeploymentId();
  const target = given.branch === project.defaultBranch ? 'production' : 'preview';
  await sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, reason, error_message, target, branch,
      commit_sha, commit_message, author, pull_request, source)
    VALUES (${id}, ${project.id}, ${project.organizationId}, 'canceled', 'skipped', ${given.reason}, ${target},
      ${given.branch}, ${given.commit}, ${given.message}, ${given.author}, ${given.pullRequest}, 'push')`;
  await sql.notify('control_deployment', id);
}

/** Handles `delete` events, and pushes without a commit, which have an order among the other pushes. */
export async function handleDeletion(
  deps: Dependencies,
  gone: BranchDeletion,
  stored: StoredDelivery,
): Promise<string> {
  const [told] = await deps.sql`
    SELECT FROM control.webhook_received
     WHERE subject = ${stored.subject} AND event = 'push' AND details->>'after' IS NULL
       AND (details->>'pushedAt')::bigint >= ${gone.pushedAt - TOLD_TWICE_SECONDS}`;
  if (told !== undefined) return 'told by its push';
  if (typeof (await tipOf(deps, gone)) === 'string') return 'overtaken';
  const outcomes: string[] = [];
  for (const project of await projectsOfHosted(deps.sql, gone))
    outcomes.push(await removeUnlessProduction(deps, project, gone.branch, 'branch_deleted'));
  return [...new Set(outcomes)].join(', ') || 'no project';
}

/** Removes a branch of a project. The production branch is never removed, even if it was deleted in the repository. */
export async function removeUnlessProduction(
  deps: Dependencies,
  project: Pick<ConnectedProject, 'id'>,
  branch: string,
  cause: 'branch_deleted' | 'pull_request_closed',
): Promise<string> {
  await deps.sql`UPDATE control.branch SET pull_request = NULL WHERE project_id = ${project.id} AND name = ${branch}`;
  try {
    await removeBranch(deps, { projectId: project.id, branch, cause }, systemAudit);
    return 'removed';
  } catch (error) {
    if (!(error instanceof ApiError) || (error.code !== 'conflict' && error.code !== 'not_found')) throw error;
    if (error.code === 'conflict') return 'kept: production';
  }
  // The branch was never live: cancel its queued and running builds.
  await deps.sql.begin(async (tx) => {
    await supersede(tx, project.id, branch, 'branch_removed');
    await tx`UPDATE control.job SET cancel_reason = 'branch_removed'
              WHERE kind = 'release' AND project_id = ${project.id} AND branch = ${branch}`;
  });
  return 'nothing to remove';
}
