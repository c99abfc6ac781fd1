// Makes a deployment of a branch of a project's repository: the row and its build, in one transaction. Called by every
// way in: webhooks of the Git host, `git push` to the platform, deploy hooks, the API.
import type { Transaction } from '#postgres/sql.ts';
import type { Parts } from '../parts.ts';
import { newDeploymentId } from '../records/ids.ts';
import { ApiError } from '../api/errors.ts';

/** What is to be built. */
export interface NewDeployment {
  readonly projectId: string;
  readonly branch: string;
  /** Null: what the branch's tip is when it is built. */
  readonly commit: string | null;
  readonly message?: string;
  readonly author?: string;
  readonly pullRequest?: number | null;
  /** From a fork: waits for approval, and is built without secrets. */
  readonly isFork?: boolean;
  readonly source: 'push' | 'pull_request' | 'redeploy' | 'hook';
  /** Account, or null for what came from outside. */
  readonly createdBy: string | null;
}

/**
 * Inserts the deployment `queued` with its build job, and wakes the builder. An older one of the branch that has not
 * ended is superseded.
 *
 * @throws {ApiError} `unprocessable` when the project has no repository.
 */
export async function createDeployment(
  { sql }: Pick<Parts, 'sql'>,
  given: NewDeployment,
): Promise<{ readonly id: string; readonly target: 'production' | 'preview' }> {
  const { projectId, branch, commit, source, createdBy } = given;
  return sql.begin(async (tx) => {
    const [project] = await tx<
      { organization_id: string; repository_id: string | null; default_branch: string }[]
    >`SELECT organization_id, repository_id, default_branch FROM control.project
      WHERE id = ${projectId} AND deleted_at IS NULL FOR UPDATE`;
    if (project === undefined) throw new ApiError('not_found');
    if (project.repository_id === null)
      throw new ApiError('unprocessable', {
        reason: 'The project has no repository: connect one, or use `platform deploy`',
      });
    const id = newDeploymentId();
    const target = branch === project.default_branch && given.isFork !== true ? 'production' : 'preview';
    const superseded = await tx<{ id: string }[]>`
      UPDATE control.deployment SET status = 'canceled', reason = 'superseded', updated_at = now()
      WHERE project_id = ${projectId} AND branch = ${branch} AND status = 'queued' RETURNING id`;
    for (const { id: older } of superseded) {
      await tx`DELETE FROM control.job WHERE deployment_id = ${older}`;
      await tx`SELECT pg_notify('control_deployment', ${older})`;
    }
    await tx`UPDATE control.job SET cancel_reason = 'superseded'
      WHERE kind = 'build' AND project_id = ${projectId} AND branch = ${branch}`;
    await tx`
      INSERT INTO control.deployment (id, project_id, organization_id, target, branch, commit_sha, commit_message,
        author, pull_request, is_fork, source, created_by)
      VALUES (${id}, ${projectId}, ${project.organization_id}, ${target}, ${branch}, ${commit}, ${given.message ?? null},
        ${given.author ?? null}, ${given.pullRequest ?? null}, ${given.isFork ?? false}, ${source}, ${createdBy})`;
    // What strangers wrote is built when a member has approved it (git-host/approval.ts).
    if (given.isFork !== true)
      await addBuild(tx, { id, projectId, branch, repositoryId: project.repository_id, commit });
    await tx`SELECT pg_notify('control_deployment', ${id})`;
    return { id, target } as const;
  });
}

/** Adds the build of a deployment, and wakes the builder. */
export async function addBuild(
  tx: Transaction,
  given: {
    readonly id: string;
    readonly projectId: string;
    readonly branch: string;
    readonly repositoryId: string;
    readonly commit: string | null;
  },
): Promise<void> {
  const { id, projectId, branch, repositoryId, commit } = given;
  await tx`
    INSERT INTO control.job (kind, deployment_id, project_id, branch, input)
    VALUES ('build', ${id}, ${projectId}, ${branch}, ${tx.json({ repositoryId, commit })})`;
  await tx`SELECT pg_notify('control_job', 'build')`;
}
