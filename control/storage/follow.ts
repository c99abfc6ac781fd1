// Counts what organizations keep, again and again, and says what is left; in between it says so anew when a project or
// a plan is changed. Started by main.ts.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { countStorage, lastCount } from './count.ts';
import { publishStorageLeft } from './left.ts';

/** Pause between counts, and how many times as long as a count it is at least: counting takes a twentieth at most. */
const PAUSE_MS = 60_000;
const PAUSES_A_COUNT = 20;
/** What was counted holds for three more counts, and an hour at least: the API may be away for a while. */
const GOOD_COUNTS = 3;
const GOOD_MS = 3_600_000;

/** Says that a plan or the projects of an organization have changed. In the transaction of the change. */
export async function touchStorage(tx: Sql | Transaction): Promise<void> {
  await tx`SELECT pg_notify('control_storage', '')`;
}

/**
 * When the first count of a process begins, in milliseconds from now: after a restart not before the pause behind the
 * last one is over.
 */
export function firstCountIn(last: Date | null, now: number): number {
  return last === null ? 0 : Math.max(0, Math.min(PAUSE_MS, last.getTime() + PAUSE_MS - now));
}

/** Takes what each count missed, and answers what two in a row have missed and was not answered since. */
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
export async function followStorage(parts: Dependencies): Promise<void> {
  const { sql, stopping, log, onNotify } = parts;
  let isTouched = false;
  let wake = (): void => {};
  const unlisten = await onNotify('control_storage', () => {
    isTouched = true;
    wake();
  });
  stopping.addEventListener('abort', () => wake());
  const last = await lastCount(sql).catch(() => null);
  let countAt = performance.now() + firstCountIn(last, Date.now());
  let pauseMs = PAUSE_MS;
  // While engines start, or restart, they do not answer.
  const lastingOf = createLasting();
  while (!stopping.aborted) {
    try {
      const began = performance.now();
      if (began >= countAt) {
        for (const reason of lastingOf(await countStorage(parts)))
          log.warn({ reason }, 'Storage is not counted in part: what was counted last holds');
        pauseMs = Math.max(PAUSE_MS, PAUSES_A_COUNT * (performance.now() - began));
        countAt = performance.now() + pauseMs;
      }
      isTouched = false;
      await publishStorageLeft(parts, Math.max(GOOD_MS, GOOD_COUNTS * pauseMs));
    } catch (error) {
      if (stopping.aborted) break;
      log.error({ err: error }, 'Storage not counted');
      countAt = performance.now() + pauseMs;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, countAt - performance.now()));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (isTouched || stopping.aborted) wake();
    });
  }
  await unlisten();
}
