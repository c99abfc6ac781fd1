// Polls plain remotes on a schedule, each repository once regardless of its projects. If branches of a repository have
// moved, it is refreshed as if its webhook had reported a push. Consecutive failures lengthen the pause. Started by the
// API process.
import { backoffMs } from '#core/backoff.ts';
import { isFailure } from '#core/failure.ts';
import { runRounds } from '#core/process/rounds.ts';
import { openCredentials, remoteSource } from '#git/clone-source.ts';
import { readRemoteHeads } from '#git/remote-heads.ts';
import { parseRemoteUrl } from '#git/host/remote-url.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { askForRefresh } from './remote-refresh.ts';

/** Seconds between two polls of a repository. */
export const pollSeconds = { least: 60, most: 86_400, usual: 300 } as const;

const POLL_MS = 10_000;
/** Repositories that a process polls concurrently. */
const TOGETHER = 4;
/** Polls of a process that died become due after this time. */
const LEASE_SECONDS = 120;
/** The longest pause after failures. */
const PAUSE_MS_MAX = 6 * 3_600_000;

interface Row {
  readonly id: string;
  readonly url: string;
  readonly credentials: Uint8Array | null;
  readonly heads: Readonly<Record<string, string>> | null;
  readonly poll_seconds: number;
  readonly poll_failures: number;
}

/** Polls until the process ends. */
export function followPolls(deps: Dependencies): Promise<void> {
  return runRounds(deps, { failure: 'Remotes could not be polled: retrying', pollMs: POLL_MS }, async () => {
    return (await workOnPolls(deps)) === TOGETHER;
  });
}

/** Polls the remotes that are due. @returns the number of polled remotes */
export async function workOnPolls(deps: Dependencies): Promise<number> {
  // A new due time prevents other API processes from polling the same remotes.
  const rows = await deps.sql<Row[]>`
    UPDATE control.repository SET poll_due_at = now() + ${`${LEASE_SECONDS} seconds`}::interval
     WHERE id IN (
       SELECT id FROM control.repository
        WHERE source = 'remote' AND poll_seconds IS NOT NULL AND disconnected_at IS NULL AND poll_due_at <= now()
          AND EXISTS (SELECT FROM control.project WHERE repository_id = repository.id AND deleted_at IS NULL)
        ORDER BY poll_due_at LIMIT ${TOGETHER} FOR UPDATE SKIP LOCKED)
    RETURNING id, url, credentials, heads, poll_seconds, poll_failures`;
  await Promise.all(rows.map((row) => poll(deps, row)));
  return rows.length;
}

async function poll(deps: Dependencies, row: Row): Promise<void> {
  const { sql, keys, git, log } = deps;
  let problem: string | null = null;
  try {
    const credentials = openCredentials(keys, row.id, row.credentials);
    const { heads } = await readRemoteHeads(await remoteSource(parseRemoteUrl(row.url), credentials, git.privateHosts));
    if (isMoved(row.heads ?? {}, heads)) await askForRefresh(deps, row.id);
  } catch (error) {
    if (!isFailure(error, 'remote_refused', 'remote_unreadable')) throw error;
    problem = error.message.slice(0, 500);
    if (row.poll_failures === 0)
      log.warn({ repository: row.id, reason: problem }, 'A remote cannot be read, and is polled less often');
  }
  const failures = problem === null ? 0 : row.poll_failures + 1;
  const pauses = { backoffMs: row.poll_seconds * 1000, backoffMsMax: Math.max(PAUSE_MS_MAX, row.poll_seconds * 1000) };
  // Pauses have jitter, so that remotes that were connected at the same time are not polled at the same time.
  const pauseMs = backoffMs(pauses, failures + 1);
  await sql`
    UPDATE control.repository
       SET poll_due_at = now() + ${`${pauseMs} ms`}::interval, poll_failures = ${failures}, checked_at = now(),
           check_problem = ${problem}
     WHERE id = ${row.id}`;
}

function isMoved(before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(after);
  return names.length !== Object.keys(before).length || names.some((name) => before[name] !== after[name]);
}
