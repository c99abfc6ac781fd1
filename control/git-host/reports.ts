// Reports deployments to the Git host: a commit status for each, and one comment per pull request that is updated, if
// the installation has the permissions. Triggers insert rows into control.git_report with each change of state, so no
// report is lost with a process.
import { createHash } from 'node:crypto';
import { backoffMs } from '#core/backoff.ts';
import { isFailure } from '#core/failure.ts';
import { runRounds } from '#core/process/rounds.ts';
import { type GitHost, type InstallationScope, type Permissions } from '#git/host/connection.ts';
import { repositoryPath } from '#git/host/repositories.ts';
import { deploymentUrls } from '../records/deployment-urls.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { includes } from './missing-permissions.ts';
import { commentBody, commentMark, commitStatus, type CommentLine, type ReportedDeployment } from './report-text.ts';

const POLL_MS = 15_000;
const TOGETHER = 10;
const LEASE_MS = 60_000;
const ATTEMPTS_MAX = 12;
const pauses = { backoffMs: 2000, backoffMsMax: 10 * 60_000 };

/** Sends reports until the process ends. */
export async function followReports(deps: Dependencies): Promise<void> {
  const { gitHost } = deps.git;
  if (gitHost === null) return;
  const listen = (wake: () => void): Promise<() => Promise<void>> =>
    deps.onNotify('control_git', (payload) => payload === 'report' && wake());
  const failure = 'Reports to the Git host: not done, tried again';
  await runRounds(deps, { failure, pollMs: POLL_MS, listen }, async () => (await workOnReports(deps, gitHost)) > 0);
}

interface Claimed {
  readonly deployment_id: string;
  readonly version: number;
  readonly attempt: number;
  readonly told: string | null;
}

/** Sends due reports. @returns how many rows there were */
export async function workOnReports(deps: Dependencies, host: GitHost): Promise<number> {
  const { sql } = deps;
  const claimed = await sql<Claimed[]>`
    UPDATE control.git_report SET attempt = attempt + 1, due_at = now() + ${`${LEASE_MS} ms`}::interval
     WHERE deployment_id IN (SELECT deployment_id FROM control.git_report WHERE due_at <= now()
                             ORDER BY due_at LIMIT ${TOGETHER} FOR UPDATE SKIP LOCKED)
    RETURNING deployment_id, version, attempt, told`;
  for (const row of claimed) {
    if (deps.stopping.aborted) break;
    const { deployment_id: id, version, attempt } = row;
    try {
      const { told, error } = await report(deps, host, row);
      await sql`UPDATE control.git_report SET told = ${told}, error = ${error},
                       due_at = CASE WHEN version = ${version} THEN NULL ELSE now() END
                 WHERE deployment_id = ${id}`;
    } catch (error) {
      const isHost = isFailure(error, 'git_host');
      const isOver = attempt >= ATTEMPTS_MAX || (isHost && error.reason === 'refused');
      const waitMs = Math.max(backoffMs(pauses, attempt), isHost ? (error.retryAfterMs ?? 0) : 0);
      deps.log.warn({ err: error, deployment: id }, 'The Git host was not told of a deployment');
      await sql`
        UPDATE control.git_report SET error = ${(error as Error).message.slice(0, 500)},
               due_at = ${isOver ? null : sql`now() + ${`${waitMs} ms`}::interval`}
         WHERE deployment_id = ${id} AND version = ${version}`;
    }
  }
  return claimed.length;
}

interface Reported {
  readonly project_id: string;
  readonly project_name: string;
  readonly status: string;
  readonly reason: string | null;
  readonly error_message: string | null;
  readonly is_fork: boolean;
  readonly approved_by: string | null;
  readonly commit_sha: string;
  readonly pull_request: number | null;
  readonly repository_id: string;
  readonly full_name: string;
  readonly host_id: string;
  readonly installation_id: string;
  readonly permissions: Permissions;
}

/** Sends the commit status. Returns what was reported and what failed. */
async function report(
  deps: Dependencies,
  host: GitHost,
  { deployment_id: id, told }: Claimed,
): Promise<{ readonly told: string | null; readonly error: string | null }> {
  const [row] = await deps.sql<Reported[]>`
    SELECT deployment.project_id, project.name AS project_name, status, reason, error_message, is_fork, approved_by,
           commit_sha, deployment.pull_request, repository.id AS repository_id, repository.full_name,
           repository.host_id, repository.installation_id, installation.permissions
      FROM control.deployment
      JOIN control.project ON project.id = deployment.project_id
      JOIN control.repository ON repository.id = project.repository_id
      JOIN control.installation ON installation.id = repository.installation_id
     WHERE deployment.id = ${id} AND commit_sha IS NOT NULL AND repository.disconnected_at IS NULL
       AND installation.suspended_at IS NULL`;
  if (row === undefined) return { told, error: 'no longer connected' };
  const lacks: string[] = [];
  const scope = (permissions: Permissions): InstallationScope => ({
    installationId: row.installation_id,
    repositoryId: row.host_id,
    permissions,
  });
  const status = commitStatus(toReported(row));
  const saying = `${status.state}: ${status.description}`;
  let isTold = told === saying;
  if (!includes(row.permissions, 'statuses', 'write')) lacks.push('statuses: write');
  else if (!isTold) {
    await host.asInstallation(scope({ statuses: 'write' }), {
      method: 'POST',
      path: `/repos/${repositoryPath(row.full_name)}/statuses/${row.commit_sha}`,
      body: { ...status, context: `platform/${row.project_name}`, target_url: logUrl(deps, id) },
      repeatable: true,
    });
    isTold = true;
  }
  if (row.pull_request !== null) {
    if (!includes(row.permissions, 'pull_requests', 'write')) lacks.push('pull_requests: write');
    else await comment(deps, host, scope({ pull_requests: 'write' }), row, row.pull_request);
  }
  return { told: isTold ? saying : told, error: lacks.length === 0 ? null : `not granted: ${lacks.join(', ')}` };
}

function toReported(row: Reported | LineRow): ReportedDeployment {
  return {
    status: row.status,
    reason: row.reason,
    errorMessage: row.error_message,
    isFork: row.is_fork,
    isApproved: row.approved_by !== null,
  };
}

/** The page of a deployment, with its log. */
function logUrl({ addresses }: Pick<Dependencies, 'addresses'>, deploymentId: string): string {
  return `${addresses.ui}/deployments/${deploymentId}`;
}

interface LineRow {
  readonly id: string;
  readonly name: string;
  readonly branch: string;
  readonly status: string;
  readonly reason: string | null;
  readonly error_message: string | null;
  readonly is_fork: boolean;
  readonly approved_by: string | null;
  readonly commit_sha: string | null;
  readonly updated_at: Date;
  readonly is_served: boolean;
}

/** For each project of the repository, the state of the pull request's newest deployment. */
async function linesOf(deps: Dependencies, repositoryId: string, number: number): Promise<CommentLine[]> {
  const rows = await deps.sql<LineRow[]>`
    SELECT DISTINCT ON (project.name) deployment.id, project.name, deployment.branch, status, reason, error_message,
           is_fork, approved_by, commit_sha, deployment.updated_at, branch.deployment_id IS NOT NULL AS is_served
      FROM control.deployment
      JOIN control.project ON project.id = deployment.project_id
      LEFT JOIN control.branch ON branch.project_id = project.id AND branch.name = deployment.branch
     WHERE project.repository_id = ${repositoryId} AND project.deleted_at IS NULL
       AND deployment.pull_request = ${number} AND deployment.removed_at IS NULL
     ORDER BY project.name, deployment.created_at DESC`;
  return rows.map((row) => ({
    ...toReported(row),
    project: row.name,
    commit: row.commit_sha ?? '',
    url: row.is_served
      ? deploymentUrls(deps.addresses, row.name, { id: row.id, branch: row.branch, isProduction: false })[0]!
      : null,
    logUrl: logUrl(deps, row.id),
    endedAt: ['success', 'failure', 'timeout', 'canceled'].includes(row.status) ? row.updated_at : null,
  }));
}

/** Creates or edits the comment. */
async function comment(
  deps: Dependencies,
  host: GitHost,
  scope: InstallationScope,
  { repository_id: repositoryId, full_name: fullName }: Reported,
  number: number,
): Promise<void> {
  const body = commentBody(repositoryId, await linesOf(deps, repositoryId, number));
  const hash = createHash('sha256').update(body).digest();
  const issues = `/repos/${repositoryPath(fullName)}/issues`;
  await deps.sql.begin(async (tx) => {
    await tx`INSERT INTO control.pull_request_comment (repository_id, number) VALUES (${repositoryId}, ${number})
             ON CONFLICT DO NOTHING`;
    // The row stays locked during the request: otherwise two processes would create two comments.
    const [row] = await tx<{ comment_id: number | null; body_hash: Uint8Array | null }[]>`
      SELECT comment_id, body_hash FROM control.pull_request_comment
       WHERE repository_id = ${repositoryId} AND number = ${number} FOR UPDATE`;
    if (row!.body_hash !== null && hash.equals(row!.body_hash)) return;
    const known = row!.comment_id ?? (await findComment(host, scope, issues, number, commentMark(repositoryId)));
    const isEdited = known !== null && (await editComment(host, scope, `${issues}/comments/${known}`, body));
    const id = isEdited
      ? known
      : (
          (await host.asInstallation(scope, {
            method: 'POST',
            path: `${issues}/${number}/comments`,
            body: { body },
          })) as {
            id: number;
          }
        ).id;
    await tx`UPDATE control.pull_request_comment SET comment_id = ${id}, body_hash = ${hash}
              WHERE repository_id = ${repositoryId} AND number = ${number}`;
  });
}

/** Finds a comment whose id was not stored because the process died. */
async function findComment(
  host: GitHost,
  scope: InstallationScope,
  issues: string,
  number: number,
  mark: string,
): Promise<number | null> {
  const path = `${issues}/${number}/comments?per_page=100`;
  const rows = (await host.asInstallation(scope, { path })) as {
    id: number;
    body?: unknown;
    user?: { type?: unknown } | null;
  }[];
  // Users can write the marker, too, but their comments cannot be edited.
  const ours = rows.find(({ body, user }) => user?.type === 'Bot' && typeof body === 'string' && body.startsWith(mark));
  return ours?.id ?? null;
}

/** @returns false if the comment was deleted */
async function editComment(host: GitHost, scope: InstallationScope, path: string, body: string): Promise<boolean> {
  try {
    await host.asInstallation(scope, { method: 'PATCH', path, body: { body }, repeatable: true });
    return true;
  } catch (error) {
    if (isFailure(error, 'git_host') && (error.status === 404 || error.status === 403)) return false;
    throw error;
  }
}
