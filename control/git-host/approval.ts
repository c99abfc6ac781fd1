// Pull requests from forks contain untrusted code: a member reviews it and approves the deployment, which is built only
// then. Each later commit of the pull request needs its own approval.
import { ApiError } from '../http/errors.ts';
import { addBuild } from '../releases/create-deployment.ts';
import { systemAudit, tell, type Audit } from '../releases/audit-entries.ts';
import type { Dependencies } from '../process/dependencies.ts';

/**
 * Approves a waiting deployment of a fork, which is then built.
 *
 * @throws {ApiError} `conflict` if the deployment does not wait for approval: it is not from a fork, already approved,
 * or superseded.
 */
export async function approveDeployment(
  { sql }: Pick<Dependencies, 'sql'>,
  deploymentId: string,
  accountId: string,
  audit: Audit = systemAudit,
): Promise<void> {
  await sql.begin(async (tx) => {
    const [row] = await tx<
      {
        organization_id: string;
        project_id: string;
        branch: string;
        commit_sha: string | null;
        repository_id: string | null;
      }[]
    >`UPDATE control.deployment SET approved_by = ${accountId}, reason = NULL, updated_at = now()
        FROM control.project
       WHERE deployment.id = ${deploymentId} AND project.id = deployment.project_id AND is_fork
         AND approved_by IS NULL AND status = 'queued'
      RETURNING deployment.organization_id, project_id, branch, commit_sha, repository_id`;
    if (row === undefined)
      throw new ApiError('conflict', {
        reason:
          'This deployment does not need approval: it is not from a fork, was approved already, or was superseded',
      });
    if (row.repository_id === null)
      throw new ApiError('unprocessable', { reason: 'The project is no longer connected to a repository' });
    const { project_id: projectId, branch, commit_sha: commit, repository_id: repositoryId } = row;
    await addBuild(tx, { id: deploymentId, projectId, branch, repositoryId, commit });
    await audit(tx, {
      organizationId: row.organization_id,
      projectId,
      action: 'deployment.approve',
      subjectKind: 'deployment',
      subjectId: deploymentId,
      details: { branch, commit },
    });
    await tell(tx, deploymentId);
  });
}
