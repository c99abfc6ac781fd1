// The builder: claims builds while it has capacity, renews their leases, aborts canceled builds, and reports when it
// was idle for a while. Opened by main.ts and by tests; one at a time per data folder.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { takeLock } from '#artifacts/file-lock.ts';
import { Failure } from '#core/failure.ts';
import { attemptBuild, cancelFailure, type AttemptDeps, type WorkFolders } from './build-attempt.ts';
import { claimBuild, renewLeases, takeOverLeases, type BuildJob } from './jobs/jobs.ts';
import { isUnavailable, retryUntilAvailable } from './jobs/postgres-errors.ts';
import { endLeftovers, openProcessGuard } from './machine/process-guard.ts';
import { removeOldest } from './retention.ts';

/** Options of a builder. */
export interface BuilderOptions extends Omit<AttemptDeps, 'guard' | 'folders'> {
  /** Maximum concurrent builds. */
  readonly concurrency: number;
  /** Parent of checkouts; null means in the data folder. */
  readonly workFolder: string | null;
}

/** A running builder. */
export interface Builder {
  /** Builds in progress. */
  readonly running: number;
  /** Resolves when the builder was idle for `BUILD_IDLE_MS`. */
  readonly idle: Promise<void>;
  /** Aborts the builds in progress, which the next builder restarts. */
  close(): Promise<void>;
}

/** Retries, since an earlier builder may be about to exit. */
const LOCK_MS_MAX = 10_000;
const LOCK_LOOK_MS = 50;

interface Attempt {
  readonly job: BuildJob;
  readonly ending: AbortController;
  readonly done: Promise<void>;
}

/** @throws {Error} when another builder uses the data folder, or it is not writable. */
export async function startBuilder(options: BuilderOptions): Promise<Builder> {
  const { sql, log, limits, concurrency } = options;
  const { leaseMs, pollMs, idleMs } = limits.build;
  const root = join(options.folder, 'builds');
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const lock = await lockOf(join(root, 'lock', 'builder.lock'));
  const owner = ownerOf(join(root, 'owner'));
  const folders = workFolders(root, options.workFolder);
  const record = join(root, 'process-groups');
  const killed = await endLeftovers(
    record,
    folders.work,
    // Processes in namespaces ended with the builder; others may have left their process group.
    options.confinement.kind === 'user' ? (options.confinement.firstUid ?? null) : null,
  );
  if (killed > 0) log.warn({ killed }, 'Processes of an earlier builder killed');
  for (const folder of [folders.work, folders.made]) empty(folder);
  const guard = openProcessGuard(record);
  const deps: AttemptDeps = { ...options, guard, folders };
  const attempts = new Map<string, Attempt>();
  const slots: boolean[] = Array.from({ length: concurrency }, () => false);
  const stopping = new AbortController();
  let claiming: Promise<void> | null = null;
  let closing: Promise<void> | null = null;
  let isDueAgain = false;
  let isAwayNow = false;
  let quietSince = performance.now();
  let resolveIdle = (): void => {};
  const idle = new Promise<void>((resolve) => (resolveIdle = resolve));

  function onError(what: string, error: unknown): void {
    if (stopping.signal.aborted) return;
    if (!isUnavailable(error)) log.error({ error: (error as Error).message }, `${what} failed`);
    else if (!isAwayNow) log.warn({ error: (error as Error).message }, 'Database unavailable: running builds continue');
    isAwayNow ||= isUnavailable(error);
  }

  function claim(): void {
    if (stopping.signal.aborted) return;
    if (claiming !== null) {
      isDueAgain = true;
      return;
    }
    claiming = claimAll()
      .catch((error: unknown) => onError('Claiming a build', error))
      .finally(() => {
        claiming = null;
        if (!isDueAgain) return;
        isDueAgain = false;
        claim();
      });
  }

  async function claimAll(): Promise<void> {
    while (!stopping.signal.aborted && attempts.size < concurrency) {
      const lease = `${owner}.${randomBytes(9).toString('base64url')}`;
      const isLastPlace = attempts.size === concurrency - 1;
      const job = await claimBuild(sql, { lease, leaseMs, own: [...attempts.keys()], isLastPlace });
      if (job === null) break;
      start(job);
    }
    isAwayNow = false;
  }

  function start(job: BuildJob): void {
    const slot = slots.indexOf(false);
    slots[slot] = true;
    const ending = new AbortController();
    log.info(
      { deployment: job.deploymentId, project: job.projectId, branch: job.branch, attempt: job.attempt },
      'Build claimed',
    );
    const done = attemptBuild(deps, job, slot, ending)
      .catch((error: unknown) => onError('Build', error))
      .finally(() => {
        slots[slot] = false;
        attempts.delete(job.lease);
        quietSince = performance.now();
        claim();
      });
    attempts.set(job.lease, { job, ending, done });
    if (stopping.signal.aborted) ending.abort(new Failure('process_stopped', 'The builder stops'));
  }

  /** Renews the leases, and aborts builds that were canceled. */
  async function renew(): Promise<void> {
    if (attempts.size === 0) return;
    const asked = [...attempts.keys()];
    const held = new Map((await renewLeases(sql, asked, leaseMs)).map((row) => [row.lease, row.cancelReason]));
    for (const lease of asked) {
      const attempt = attempts.get(lease);
      const reason = held.get(lease);
      if (attempt === undefined || reason === null) continue;
      // If the builder has already stopped, nothing listens for the abort any more.
      attempt.ending.abort(
        reason === undefined
          ? new Failure('lease_lost', 'Another builder has taken over the build')
          : cancelFailure(reason),
      );
    }
  }

  const renewEvery = Math.min(pollMs, Math.max(100, leaseMs / 3));
  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      await renew().catch((error: unknown) => onError('Renewal of leases', error));
      claim();
      await claiming;
      if (attempts.size === 0 && performance.now() - quietSince > idleMs) resolveIdle();
      await pause(renewEvery, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  await retryUntilAvailable(() => takeOverLeases(sql, owner));
  const listening = await retryUntilAvailable(() =>
    sql.listen('control_job', (kind) => {
      if (kind !== 'build') return;
      claim();
      void renew().catch((error: unknown) => onError('Renewal of leases', error));
    }),
  );
  const keeping = keep();
  const sweeping = removeOldest({ sql, caches: folders.caches, limits: limits.build, signal: stopping.signal }).catch(
    (error: unknown) => onError('Removing old caches and logs', error),
  );

  return {
    get running() {
      return attempts.size;
    },
    idle,
    close: () => (closing ??= close()),
  };

  async function close(): Promise<void> {
    stopping.abort();
    for (const { ending } of attempts.values()) ending.abort(new Failure('process_stopped', 'The builder stops'));
    await Promise.all([keeping, sweeping, claiming, ...[...attempts.values()].map(({ done }) => done)]);
    await listening.unlisten().catch(() => {});
    await guard.close();
    lock.release();
  }
}

async function lockOf(file: string): Promise<{ release(): void }> {
  for (const until = performance.now() + LOCK_MS_MAX; ; await pause(LOCK_LOOK_MS)) {
    const lock = takeLock(file);
    if (lock !== null) return lock;
    if (performance.now() > until) throw new Error(`Another builder uses this data folder: it has locked ${file}`);
  }
}

/** Identifies leases of this data folder: the holder of its lock may take them over. */
function ownerOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    const owner = `b${randomBytes(9).toString('base64url')}`;
    writeFileSync(file, `${owner}\n`, { mode: 0o600 });
    return owner;
  }
}

function workFolders(root: string, workFolder: string | null): WorkFolders {
  const folders = {
    work: workFolder ?? join(root, 'work'),
    caches: join(root, 'caches'),
    made: join(root, 'made'),
  };
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folders;
}

function empty(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 5 });
}
