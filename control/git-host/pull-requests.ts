// Pull requests. Pull requests from the same repository use the deployments of their branch: only the number is stored.
// Pull requests of forks contain untrusted code: their commits wait for approval, under a branch name that no branch of
// the repository can have.
import { forkBranch } from '#core/names.ts';
import type { PullRequest } from '#git/host/delivery.ts';
import { createDeployment } from '../releases/create-deployment.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { projectsOfHosted, type ConnectedProject } from './connected-projects.ts';
import type { StoredDelivery } from './delivery.ts';
import { removeUnlessProduction } from './pushes.ts';

/** @returns the result, stored with the delivery */
export async function handlePullRequest(
  deps: Dependencies,
  pullRequest: PullRequest,
  { receivedAt }: StoredDelivery,
): Promise<string> {
  const outcomes: string[] = [];
  for (const project of await projectsOfHosted(deps.sql, pullRequest))
    outcomes.push(
      pullRequest.isFork
        ? await handleFork(deps, pullRequest, project, receivedAt)
        : await noteNumber(deps, pullRequest, project),
    );
  return [...new Set(outcomes)].join(', ') || 'no project';
}

async function handleFork(
  deps: Dependencies,
  { action, number, sha, title, author }: PullRequest,
  project: ConnectedProject,
  receivedAt: Date,
): Promise<string> {
  const branch = forkBranch(number);
  if (action === 'closed') return removeUnlessProduction(deps, project, branch, 'pull_request_closed');
  const [made] = await deps.sql`
    SELECT FROM control.deployment WHERE project_id = ${project.id} AND branch = ${branch} AND commit_sha = ${sha}
       AND source = 'pull_request' AND (created_at >= ${receivedAt} OR status NOT IN ('canceled', 'failure', 'timeout'))
       AND removed_at IS NULL`;
  if (made !== undefined) return 'deployed';
  await createDeployment(deps, {
    projectId: project.id,
    branch,
    commit: sha,
    message: title,
    author,
    pullRequest: number,
    isFork: true,
    source: 'pull_request',
    createdBy: null,
  });
  return 'waits for approval';
}

async function noteNumber(
  { sql }: Dependencies,
  { action, number, branch }: PullRequest,
  { id }: ConnectedProject,
): Promise<string> {
  if (action === 'closed') {
    await sql`UPDATE control.branch SET pull_request = NULL, updated_at = now()
               WHERE project_id = ${id} AND name = ${branch} AND pull_request = ${number}`;
    return 'closed';
  }
  await sql.begin(async (tx) => {
    // The number is stored even before the first deployment, because pushes look it up here.
    await tx`
      INSERT INTO control.branch (project_id, name, pull_request) VALUES (${id}, ${branch}, ${number})
      ON CONFLICT (project_id, name) DO UPDATE SET pull_request = ${number}, updated_at = now()`;
    const [newest] = await tx<{ id: string }[]>`
      UPDATE control.deployment SET pull_request = ${number}
       WHERE id = (SELECT id FROM control.deployment WHERE project_id = ${id} AND branch = ${branch}
                   AND removed_at IS NULL ORDER BY created_at DESC LIMIT 1)
      RETURNING id`;
    if (newest === undefined) return;
    await tx`UPDATE control.git_report SET due_at = now(), version = version + 1 WHERE deployment_id = ${newest.id}`;
    await tx`SELECT pg_notify('control_git', 'report')`;
  });
  return 'noted';
}
