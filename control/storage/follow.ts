// Measures the storage of organizations periodically and publishes the remaining storage; in between, publishes it
// again when a project or a plan changes. Started by main.ts.
import { createWake } from '#core/process/wake.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { countStorage, lastCount } from './count.ts';
import { publishStorageLeft } from './left.ts';

/**
 * Minimum pause between counts: a fixed time, and a multiple of the last count's duration, so that counting takes at
 * most 5 % of the time.
 */
const PAUSE_MS = 60_000;
const PAUSES_A_COUNT = 20;
/** A count stays valid for three more counts, and at least an hour, since the API may be down for a while. */
const GOOD_COUNTS = 3;
const GOOD_MS = 3_600_000;

/** Notifies of a changed plan or project, in the transaction of the change. */
export async function touchStorage(tx: Sql | Transaction): Promise<void> {
  await tx`SELECT pg_notify('control_storage', '')`;
}

/**
 * Delay until the first count of a process, in milliseconds. After a restart, the pause since the last count must have
 * passed.
 */
export function firstCountIn(last: Date | null, now: number): number {
  return last === null ? 0 : Math.max(0, Math.min(PAUSE_MS, last.getTime() + PAUSE_MS - now));
}

/** Takes the failures of each count and returns those that occurred twice in a row and were not returned since. */
export function createLasting(): (missed: readonly string[]) => readonly string[] {
  let before: readonly string[] = [];
  let said: ReadonlySet<string> = new Set();
  return (missed) => {
    const lasting = missed.filter((reason) => before.includes(reason));
    const news = lasting.filter((reason) => !said.has(reason));
    before = missed;
    said = new Set(lasting);
    return news;
  };
}

/** Counts until the process ends. */
export async function followStorage(deps: Dependencies): Promise<void> {
  const { sql, stopping, log, onNotify } = deps;
  const wake = createWake(stopping);
  const unlisten = await onNotify('control_storage', wake.now);
  const last = await lastCount(sql).catch(() => null);
  let countAt = performance.now() + firstCountIn(last, Date.now());
  let pauseMs = PAUSE_MS;
  // Engines do not respond while they start or restart.
  const lastingOf = createLasting();
  while (!stopping.aborted) {
    try {
      const began = performance.now();
      if (began >= countAt) {
        for (const reason of lastingOf(await countStorage(deps)))
          log.warn({ reason }, 'Storage not measured completely: the last measurement is used');
        pauseMs = Math.max(PAUSE_MS, PAUSES_A_COUNT * (performance.now() - began));
        countAt = performance.now() + pauseMs;
      }
      await publishStorageLeft(deps, Math.max(GOOD_MS, GOOD_COUNTS * pauseMs));
    } catch (error) {
      if (stopping.aborted) break;
      log.error({ err: error }, 'Storage not counted');
      countAt = performance.now() + pauseMs;
    }
    await wake.wait(Math.max(0, countAt - performance.now()));
  }
  await unlisten();
}
