// Reports deployments to their Git host: a commit status for each, and one comment per pull request that is updated, if
// the installation has the permissions. Triggers insert rows into control.git_report with each change of state, so no
// report is lost with a process.
import { createHash } from 'node:crypto';
import { backoffMs } from '#core/backoff.ts';
import { isFailure } from '#core/failure.ts';
import { runRounds } from '#core/process/rounds.ts';
import type { RepositoryAccess } from '#git/host/access.ts';
import type { Permissions } from '#git/host/connection.ts';
import { openGithub } from '#git/host/kinds/github.ts';
import type { TokenHostKindName } from '#git/host/token-hosts.ts';
import { deploymentUrls } from '../records/deployment-urls.ts';
import { guardedOf, percentOf, type GuardedRow } from '../records/guarded-releases.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { hostedColumns, noteProblem, openHosted } from './hosts.ts';
import { includes } from './missing-permissions.ts';
import { commentBody, commentMark, commitStatus, type CommentLine, type ReportedDeployment } from './report-text.ts';

const POLL_MS = 15_000;
const TOGETHER = 10;
const LEASE_MS = 60_000;
/** With these pauses, a host that does not respond for two hours still gets its reports. */
const ATTEMPTS_MAX = 22;
const pauses = { backoffMs: 2000, backoffMsMax: 10 * 60_000 };

/** Sends reports until the process ends. */
export async function followReports(deps: Dependencies): Promise<void> {
  const listen = (wake: () => void): Promise<() => Promise<void>> =>
    deps.onNotify('control_git', (payload) => payload === 'report' && wake());
  const failure = 'Reports to the Git host failed: retrying';
  await runRounds(deps, { failure, pollMs: POLL_MS, listen }, async () => (await workOnReports(deps)) > 0);
}

interface Claimed {
  readonly deployment_id: string;
  readonly version: number;
  readonly attempt: number;
  readonly told: string | null;
}

/** Sends due reports. @returns the number of reports that were due */
export async function workOnReports(deps: Dependencies): Promise<number> {
  const { sql } = deps;
  const claimed = await sql<Claimed[]>`
    UPDATE control.git_report SET attempt = attempt + 1, due_at = now() + ${`${LEASE_MS} ms`}::interval
     WHERE deployment_id IN (SELECT deployment_id FROM control.git_report WHERE due_at <= now()
                             ORDER BY due_at LIMIT ${TOGETHER} FOR UPDATE SKIP LOCKED)
    RETURNING deployment_id, version, attempt, told`;
  // An unresponsive host delays the reports to other hosts only once, not for each of its deployments.
  const away = new Map<string, Error>();
  for (const row of claimed) {
    if (deps.stopping.aborted) break;
    const { deployment_id: id, version, attempt } = row;
    const reported = await readReported(deps, id);
    try {
      const { told, error } = await report(deps, row, reported, away);
      await sql`UPDATE control.git_report SET told = ${told}, error = ${error},
                       due_at = CASE WHEN version = ${version} THEN NULL ELSE now() END
                 WHERE deployment_id = ${id}`;
    } catch (error) {
      const isHost = isFailure(error, 'git_host');
      const isOver = attempt >= ATTEMPTS_MAX || (isHost && error.reason === 'refused');
      const waitMs = Math.max(backoffMs(pauses, attempt), isHost ? (error.retryAfterMs ?? 0) : 0);
      if (isHost && error.status === 401 && reported?.git_host_id != null)
        await noteProblem(sql, reported.account_id, error.message);
      deps.log.warn({ err: error, deployment: id }, 'A deployment could not be reported to the Git host');
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
  readonly guarded: GuardedRow | null;
  /** Whether the deployment became production after its newest guarded release ended. */
  readonly is_promoted_since: boolean | null;
  readonly commit_sha: string;
  readonly pull_request: number | null;
  readonly repository_id: string;
  readonly full_name: string;
  readonly host_id: string;
  readonly permissions: Permissions;
  readonly account_id: string;
  // Null means the host of GITHOST_URL.
  readonly git_host_id: string | null;
  readonly host_kind: TokenHostKindName | null;
  readonly host_name: string | null;
  readonly host_url: string | null;
  readonly token: Uint8Array | null;
  readonly is_grant: boolean | null;
}

async function readReported({ sql }: Dependencies, id: string): Promise<Reported | undefined> {
  const [row] = await sql<Reported[]>`
    SELECT d.project_id, project.name AS project_name, status, reason, error_message, is_fork, approved_by,
           commit_sha, d.pull_request, ${guardedOf(sql)} AS guarded,
           (SELECT max(at) FROM control.production_change WHERE deployment_id = d.id) > (
             SELECT ended_at FROM control.guarded_release WHERE deployment_id = d.id ORDER BY id DESC LIMIT 1
           ) AS is_promoted_since, installation.permissions, ${hostedColumns(sql)}
      FROM control.deployment AS d
      JOIN control.project ON project.id = d.project_id
      JOIN control.repository ON repository.id = project.repository_id
      JOIN control.installation ON installation.id = repository.installation_id
      LEFT JOIN control.git_host ON git_host.id = repository.git_host_id
     WHERE d.id = ${id} AND commit_sha IS NOT NULL AND repository.disconnected_at IS NULL
       AND installation.suspended_at IS NULL`;
  return row;
}

/** Null if no application is configured. */
function accessOf(deps: Dependencies, row: Reported): RepositoryAccess | null {
  const { git_host_id, host_kind, host_name, host_url, token, is_grant, account_id } = row;
  if (git_host_id === null) return deps.git.gitHost === null ? null : openGithub(deps.git.gitHost, account_id);
  return openHosted(deps, {
    account_id,
    git_host_id,
    host_kind: host_kind!,
    host_name: host_name!,
    host_url: host_url!,
    token: token!,
    is_grant: is_grant!,
  });
}

/** Sends the commit status and the comment. Returns the reported and the failed deployments. */
async function report(
  deps: Dependencies,
  { deployment_id: id, told }: Claimed,
  row: Reported | undefined,
  away: Map<string, Error>,
): Promise<{ readonly told: string | null; readonly error: string | null }> {
  if (row === undefined) return { told, error: 'no longer connected' };
  const access = accessOf(deps, row);
  if (access === null) return { told, error: 'no Git-host application is configured' };
  const host = row.git_host_id ?? '';
  const failed = away.get(host);
  if (failed !== undefined) throw failed;
  try {
    return await send(deps, access, row, id, told);
  } catch (error) {
    if (isFailure(error, 'git_host') && error.reason !== 'refused') away.set(host, error);
    throw error;
  }
}

async function send(
  deps: Dependencies,
  access: RepositoryAccess,
  row: Reported,
  id: string,
  told: string | null,
): Promise<{ readonly told: string | null; readonly error: string | null }> {
  const repository = { id: row.host_id, fullName: row.full_name };
  const lacks: string[] = [];
  const { guarded, is_promoted_since: isPromotedSince } = row;
  const status = commitStatus({
    ...toReported(row),
    ...(guarded !== null && isPromotedSince !== true && { guarded: { ...guarded, percent: percentOf(guarded) } }),
  });
  const saying = `${status.state}: ${status.description}`;
  let isTold = told === saying;
  if (!includes(row.permissions, 'statuses', 'write')) lacks.push('statuses: write');
  else if (!isTold) {
    await access.setStatus(repository, row.commit_sha, {
      ...status,
      context: `platform/${row.project_name}`,
      targetUrl: logUrl(deps, id),
    });
    isTold = true;
  }
  if (row.pull_request !== null) {
    if (!includes(row.permissions, 'pull_requests', 'write')) lacks.push('pull_requests: write');
    else await comment(deps, access, row, row.pull_request);
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

/** Creates or edits the comment, unless its text is unchanged. */
async function comment(
  deps: Dependencies,
  access: RepositoryAccess,
  { repository_id: repositoryId, host_id: id, full_name: fullName }: Reported,
  number: number,
): Promise<void> {
  const body = commentBody(repositoryId, await linesOf(deps, repositoryId, number));
  const hash = createHash('sha256').update(body).digest();
  await deps.sql.begin(async (tx) => {
    await tx`INSERT INTO control.pull_request_comment (repository_id, number) VALUES (${repositoryId}, ${number})
             ON CONFLICT DO NOTHING`;
    // The row stays locked during the request: otherwise two processes would create two comments.
    const [row] = await tx<{ comment_id: number | null; body_hash: Uint8Array | null }[]>`
      SELECT comment_id, body_hash FROM control.pull_request_comment
       WHERE repository_id = ${repositoryId} AND number = ${number} FOR UPDATE`;
    if (row!.body_hash !== null && hash.equals(row!.body_hash)) return;
    const known = { id: row!.comment_id, mark: commentMark(repositoryId), body };
    const written = await access.writeComment({ id, fullName }, number, known);
    await tx`UPDATE control.pull_request_comment SET comment_id = ${written}, body_hash = ${hash}
              WHERE repository_id = ${repositoryId} AND number = ${number}`;
  });
}
