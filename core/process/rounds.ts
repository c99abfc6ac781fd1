// The loop of background work: runs a round at each wake-up, and also at intervals, because a wake-up can be lost. Used
// by the API process.
import type { Logger } from 'pino';
import { createWake } from './wake.ts';

/** When rounds happen. */
interface Rounds {
  /** Log message for a failed round: "Alerts not evaluated". */
  readonly failure: string;
  /** Longest pause between two rounds, in milliseconds. */
  readonly pollMs: number;
  /** Registers `wake`; resolves once registered, with a function that removes it. */
  readonly listen?: (wake: () => void) => Promise<() => Promise<void>>;
}

/**
 * Runs rounds, one at a time, until `stopping` aborts. A failed round, or a failure to listen, is logged and repeated.
 *
 * @param round resolves with true to run again immediately.
 */
export async function runRounds(
  { stopping, log }: { readonly stopping: AbortSignal; readonly log: Pick<Logger, 'error'> },
  { failure, pollMs, listen }: Rounds,
  round: () => Promise<unknown>,
): Promise<void> {
  const wake = createWake(stopping);
  let unlisten: (() => Promise<void>) | undefined;
  while (!stopping.aborted) {
    try {
      unlisten ??= await listen?.(wake.now);
      if ((await round()) === true) continue;
    } catch (error) {
      if (!stopping.aborted) log.error({ err: error }, failure);
    }
    await wake.wait(pollMs);
  }
  await unlisten?.().catch(() => {});
}
