// Counts what organizations keep, again and again, and says what is left; in between it says so anew when a project or
// a plan is changed. Started by main.ts.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { countStorage } from './count.ts';
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

/** Counts until the process ends. */
export async function followStorage(parts: Dependencies): Promise<void> {
  const { stopping, log, onNotify } = parts;
  let isTouched = false;
  let wake = (): void => {};
  const unlisten = await onNotify('control_storage', () => {
    isTouched = true;
    wake();
  });
  stopping.addEventListener('abort', () => wake());
  let countAt = 0;
  let pauseMs = PAUSE_MS;
  while (!stopping.aborted) {
    try {
      const began = performance.now();
      if (began >= countAt) {
        await countStorage(parts);
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
