// Creates a deployment of a branch of a project's repository: the row and its build job, in one transaction. Used by
// webhooks of the Git host, `git push` to the platform, deploy hooks and the API.
import { forkBranch } from '#core/names.ts';
import type { Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newDeploymentId } from '../records/ids.ts';
import { ApiError } from '../http/errors.ts';
import { systemAudit, tell, type Audit } from './audit-entries.ts';

/** A deployment to create. */
interface NewDeployment {
  readonly projectId: string;
  readonly branch: string;
  /** Null means the tip of the branch at build time. */
  readonly commit: string | null;
  readonly message?: string;
  readonly author?: string;
  readonly pullRequest?: number | null;
  /** From a fork: waits for approval, and is built without secrets. */
  readonly isFork?: boolean;
  readonly source: 'push' | 'pull_request' | 'redeploy' | 'hook';
  /** Account; null if triggered from outside. */
  readonly createdBy: string | null;
  /** Writes the audit log entry. By default, the platform is the actor. */
  readonly audit?: Audit;
  /** Further options for the builder, such as `{clearCache: true}`. */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
}

/** The created deployment, or an existing deployment of the same commit. */
interface CreatedDeployment {
  readonly id: string;
  readonly target: 'production' | 'preview';
  /** False if the same commit of the branch is already being deployed. */
  readonly isNew: boolean;
}

interface ProjectRow {
  readonly organization_id: string;
  readonly repository_id: string | null;
  readonly default_branch: string;
}

/**
 * Inserts the deployment as `queued` with its build job, and wakes the builder. Waiting deployments of the branch are
 * superseded, and a running build is canceled. A deployment of a fork waits for approval, without a job.
 *
 * @throws {ApiError} `not_found`; `unprocessable` if the project has no repository.
 */
export async function createDeployment(
  { sql }: Pick<Dependencies, 'sql'>,
  given: NewDeployment,
): Promise<CreatedDeployment> {
  const { projectId, commit, source, createdBy, isFork = false, pullRequest = null } = given;
  // A fork's branch may have the same name as a branch of the repository, and must not use its data.
  const branch = isFork ? forkBranch(pullRequest ?? 0) : given.branch;
  return sql.begin(async (tx) => {
    const [project] = await tx<ProjectRow[]>`
      SELECT organization_id, repository_id, default_branch FROM control.project
      WHERE id = ${projectId} AND deleted_at IS NULL FOR UPDATE`;
    if (project === undefined) throw new ApiError('not_found');
    if (project.repository_id === null)
      throw new ApiError('unprocessable', {
        reason: 'The project has no repository: connect one, or use `platform deploy`',
      });
    const same = commit === null ? null : await underWay(tx, projectId, branch, commit);
    if (same !== null) {
      // A push and its pull request arrive separately.
      await tx`UPDATE control.deployment SET pull_request = coalesce(pull_request, ${pullRequest}) WHERE id = ${same.id}`;
      return { ...same, isNew: false };
    }
    const id = newDeploymentId();
    const target = branch === project.default_branch && !isFork ? 'production' : 'preview';
    await supersede(tx, projectId, branch);
    await tx`
      INSERT INTO control.deployment (id, project_id, organization_id, target, branch, commit_sha, commit_message,
        author, pull_request, is_fork, reason, source, created_by, created_at)
      VALUES (${id}, ${projectId}, ${project.organization_id}, ${target}, ${branch}, ${commit}, ${given.message ?? null},
        ${given.author ?? null}, ${pullRequest}, ${isFork}, ${isFork ? 'approval_required' : null}, ${source},
        ${createdBy}, clock_timestamp())`;
    // Untrusted code is built only after approval (git-host/approval.ts).
    if (!isFork)
      await addBuild(tx, { id, projectId, branch, repositoryId: project.repository_id, commit, input: given.input });
    await (given.audit ?? systemAudit)(tx, {
      organizationId: project.organization_id,
      projectId,
      action: 'deployment.create',
      subjectKind: 'deployment',
      subjectId: id,
      details: {
        branch,
        commit,
        source,
        target,
        createdBy,
        ...(given.input?.['clearCache'] === true && { clearCache: true }),
      },
    });
    await tell(tx, id);
    return { id, target, isNew: true } as const;
  });
}

/** Cancels waiting and running builds of a branch, because a newer one exists or the branch was deleted. */
export async function supersede(
  tx: Transaction,
  projectId: string,
  branch: string,
  reason: 'superseded' | 'branch_removed' = 'superseded',
): Promise<void> {
  const ended = await tx<{ id: string }[]>`
    UPDATE control.deployment SET status = 'canceled', reason = ${reason}, updated_at = now()
    WHERE project_id = ${projectId} AND branch = ${branch} AND status = 'queued' RETURNING id`;
  for (const { id } of ended) {
    await tx`DELETE FROM control.job WHERE deployment_id = ${id}`;
    await tell(tx, id);
  }
  await tx`
    UPDATE control.job SET cancel_reason = coalesce(cancel_reason, ${reason})
    WHERE kind = 'build' AND project_id = ${projectId} AND branch = ${branch}`;
  await tx`SELECT pg_notify('control_job', 'build')`;
}

/** Adds the build job of a deployment, and wakes the builder. */
export async function addBuild(
  tx: Transaction,
  given: {
    readonly id: string;
    readonly projectId: string;
    readonly branch: string;
    readonly repositoryId: string;
    readonly commit: string | null;
    readonly input?: NewDeployment['input'];
  },
): Promise<void> {
  const { id, projectId, branch, repositoryId, commit, input } = given;
  await tx`
    INSERT INTO control.job (kind, deployment_id, project_id, branch, input)
    VALUES ('build', ${id}, ${projectId}, ${branch}, ${tx.json({ ...input, repositoryId, commit } as never)})`;
  await tx`SELECT pg_notify('control_job', 'build')`;
}

async function underWay(
  tx: Transaction,
  projectId: string,
  branch: string,
  commit: string,
): Promise<Pick<CreatedDeployment, 'id' | 'target'> | null> {
  const [row] = await tx<Pick<CreatedDeployment, 'id' | 'target'>[]>`
    SELECT d.id, d.target FROM control.deployment d LEFT JOIN control.job j ON j.deployment_id = d.id
    WHERE d.project_id = ${projectId} AND d.branch = ${branch} AND d.commit_sha = ${commit}
      AND d.status IN ('queued', 'building', 'uploading', 'migrating') AND j.cancel_reason IS NULL
    ORDER BY d.created_at DESC LIMIT 1`;
  return row ?? null;
}
