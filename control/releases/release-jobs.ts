// The loop that claims release jobs, with a lease that is renewed, at most one per project. Woken by NOTIFY, with slow
// polling as a fallback. Runs in the API process.
import { randomUUID } from 'node:crypto';
import { storeProblem } from '#artifacts/store/stored.ts';
import { isFailure } from '#core/failure.ts';
import { createWake } from '#core/process/wake.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { withProject } from './project-lock.ts';
import { giveUp, release, type ReleaseJob } from './release.ts';

/** Leaves connections for promotions and rollbacks (process/keyed-mutex.ts). */
const AT_ONCE_MAX = 2;
const LEASE_MS = 30_000;
const POLL_MS = 2000;
const AGAIN_MS = 1000;
/** Releases wait this long for unavailable engines, and for the storage of artifacts, before they fail. */
const AWAY_MS_MAX = 10 * 60_000;
const LOCK_WAIT_MS = 60_000;
/** Time for running releases to finish when the process shuts down. */
const STOP_MS = 3000;

/** Runs releases until the process ends. */
export async function runReleases(deps: Dependencies): Promise<void> {
  const { sql, stopping, log } = deps;
  const member = `api.${randomUUID()}`;
  const running = new Map<number, Promise<void>>();
  const wake = createWake(stopping);
  await deps.onNotify('control_job', (kind) => kind === 'release' && wake.now());
  const renewing = setInterval(() => {
    if (running.size === 0) return;
    void sql`
      UPDATE control.job SET lease_until = now() + ${LEASE_MS} * interval '1 ms'
      WHERE lease LIKE ${`${member}.%`} AND id = ANY(${[...running.keys()]})`.catch((error: unknown) =>
      log.warn({ err: error }, 'The leases of releases could not be renewed'),
    );
  }, LEASE_MS / 3);
  // The supervisor starts one API process, so earlier holders of these leases have died.
  await sql`UPDATE control.job SET lease_until = now() WHERE kind = 'release' AND lease LIKE 'api.%'`;
  let claims = 0;
  while (!stopping.aborted) {
    try {
      while (running.size < AT_ONCE_MAX && !stopping.aborted) {
        const job = await claim(deps, `${member}.${++claims}`, [...running.keys()]);
        if (job === null) break;
        const done = runOne(deps, job).finally(() => {
          running.delete(job.id);
          wake.now();
        });
        running.set(job.id, done);
      }
    } catch (error) {
      if (!stopping.aborted) log.error({ err: error }, 'Releases not claimed');
    }
    await wake.wait(POLL_MS);
  }
  clearInterval(renewing);
  // Releases that take longer are left to the next process.
  let late: NodeJS.Timeout | undefined;
  const isLate = new Promise((resolve) => (late = setTimeout(resolve, STOP_MS)));
  await Promise.race([Promise.allSettled(running.values()), isLate]);
  clearTimeout(late);
}

async function claim({ sql }: Dependencies, lease: string, running: readonly number[]): Promise<ReleaseJob | null> {
  const [row] = await sql<
    { id: number; deployment_id: string; project_id: string; attempt: number; attempts_max: number }[]
  >`
    UPDATE control.job SET attempt = attempt + 1, lease = ${lease},
      lease_until = now() + ${LEASE_MS} * interval '1 ms'
    WHERE id = (
      SELECT j.id FROM control.job j
      WHERE j.kind = 'release' AND j.due_at <= now() AND (j.lease_until IS NULL OR j.lease_until <= now())
        AND j.id <> ALL(${[...running]})
        AND NOT EXISTS (SELECT FROM control.job o WHERE o.kind = 'release' AND o.project_id = j.project_id
          AND o.id <> j.id AND o.lease_until > now())
      ORDER BY j.due_at, j.id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, deployment_id, project_id, attempt, attempts_max`;
  if (row === undefined) return null;
  return {
    id: row.id,
    deploymentId: row.deployment_id,
    projectId: row.project_id,
    attempt: row.attempt,
    attemptsMax: row.attempts_max,
    lease,
  };
}

async function runOne(deps: Dependencies, job: ReleaseJob): Promise<void> {
  const { sql, log } = deps;
  try {
    await withProject(deps, job.projectId, LOCK_WAIT_MS, () => release(deps, job));
  } catch (error) {
    if (isFailure(error, 'lease_lost')) return;
    const isWaiting = isFailure(error, 'engines_away', 'not_routed', 'artifact_store');
    log.warn({ err: error, deployment: job.deploymentId, attempt: job.attempt }, 'Release interrupted');
    try {
      const [waits] = await sql<{ ms: number }[]>`
        SELECT (extract(epoch FROM now() - created_at) * 1000)::float8 AS ms FROM control.job WHERE id = ${job.id}`;
      const isOver = isWaiting ? (waits?.ms ?? 0) > AWAY_MS_MAX : job.attempt >= job.attemptsMax;
      if (isOver && !isFailure(error, 'not_routed')) return await giveUp(deps, job, inWords(error));
      // Waiting for engines does not count as an attempt.
      await sql`
        UPDATE control.job SET lease = NULL, lease_until = NULL, due_at = now() + ${AGAIN_MS} * interval '1 ms',
          attempt = attempt - ${isWaiting ? 1 : 0}
        WHERE id = ${job.id} AND lease = ${job.lease}`;
    } catch (failure) {
      // If the lease cannot be released, it expires by itself.
      log.error({ err: failure, deployment: job.deploymentId }, 'The lease of a release could not be released');
    }
  }
}

/** The message shown to the user; internal causes are only logged. */
function inWords(error: unknown): string {
  if (isFailure(error, 'artifact_store')) return storeProblem('The artifact could not be stored', error);
  return isFailure(error, 'engines_away')
    ? error.message
    : 'The release was interrupted too often: the log of the platform has the cause';
}
