// The loop of the migrator: claims runs, a few at a time and one per project, makes an attempt at each, and renews
// their leases in the meantime. NOTIFY and a slow poll wake the loop. Started by main.ts.
import type { Logger } from 'pino';
import { isFailure } from '#core/failure.ts';
import type { Sql } from '#postgres/sql.ts';
import { attemptRun, type AttemptDeps } from './attempt.ts';
import { CHANNEL, claimRun, renewRuns, type ClaimedRun } from './claims.ts';

interface MigratorOptions extends Omit<AttemptDeps, 'stopping'> {
  readonly sql: Sql;
  readonly log: Logger;
}

/** A running migrator. */
export interface Migrator {
  /** Number of running runs. */
  readonly running: number;
  /** Stops starting runs, and waits for the migration that each run is applying. */
  close(): Promise<void>;
}

const POLL_MS = 1000;

/** Starts the migrator. */
export async function startMigrator(options: MigratorOptions): Promise<Migrator> {
  const { sql, limits, member, log } = options;
  const stopping = new AbortController();
  const running = new Map<string, Promise<void>>();
  let claims = 0;
  let wake: (() => void) | null = null;
  let isWoken = false;
  const look = (): void => {
    isWoken = true;
    wake?.();
  };

  async function attempt(run: ClaimedRun): Promise<void> {
    const fields = { run: run.id, deployment: run.deploymentId, attempt: run.attempt };
    try {
      await attemptRun({ ...options, stopping: stopping.signal }, run);
    } catch (error) {
      // The lease was lost, and its new holder continues.
      if (isFailure(error, 'lease_lost')) log.warn(fields, 'Migrations abandoned: their lease was lost');
      else log.error({ ...fields, err: error }, 'Migrations interrupted');
    }
  }

  async function claimAll(): Promise<void> {
    while (running.size < limits.concurrency && !stopping.signal.aborted) {
      const run = await claimRun(sql, `${member}.${++claims}`, limits.leaseMs, [...running.keys()]);
      if (run === null) return;
      log.info({ run: run.id, deployment: run.deploymentId, attempt: run.attempt }, 'Migrations claimed');
      const done = attempt(run).finally(() => {
        running.delete(run.id);
        look();
      });
      running.set(run.id, done);
    }
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      isWoken = false;
      try {
        await claimAll();
      } catch (error) {
        if (!stopping.signal.aborted) log.error({ err: error }, 'Migrations not claimed');
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        if (isWoken) wake();
      });
      wake = null;
    }
  }

  const listening = await sql.listen(CHANNEL, look);
  const renewing = setInterval(() => {
    if (running.size === 0) return;
    void renewRuns(sql, member, [...running.keys()], limits.leaseMs).catch((error: unknown) =>
      log.warn({ err: error }, 'Leases of migrations not renewed'),
    );
  }, limits.leaseMs / 3).unref();
  const looping = loop();
  return {
    get running() {
      return running.size;
    },
    async close() {
      stopping.abort();
      look();
      await looping;
      await Promise.all(running.values());
      clearInterval(renewing);
      await listening.unlisten().catch(() => {});
    },
  };
}
