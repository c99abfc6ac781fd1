// When a worker that used up a budget while it was loaded may try again: each try may burn the whole startup budget, so
// without a pause every request would buy one. deployment.ts asks before it starts an isolate. Pure: time comes in.
import { failed, type Outcome } from '../invocation/outcome.ts';

type Failure = Outcome & { kind: 'failed' };

const FIRST_MS = 1000;
const MOST_MS = 60_000;
/** What costs little, or is mended by waiting for another service, is tried again at once. */
const COSTLY: ReadonlySet<string> = new Set([
  'startup_cpu_limit_exceeded',
  'memory_limit_exceeded',
  'isolate_replaced',
]);

export class StartPause {
  #failures = 0;
  #until = 0;
  #outcome: Failure | null = null;

  /** A start has failed. Each further one makes the pause twice as long. */
  failed(outcome: Failure, now: number): void {
    if (!COSTLY.has(outcome.code)) return;
    this.#until = now + Math.min(MOST_MS, FIRST_MS * 2 ** this.#failures++);
    this.#outcome = outcome;
  }

  started(): void {
    this.#failures = 0;
    this.#outcome = null;
  }

  /** What requests are answered until it may be tried again; null when it may be now. */
  answer(now: number): Failure | null {
    if (this.#outcome === null || now >= this.#until) return null;
    const { code, details } = this.#outcome;
    return failed(code, { ...details, retryAfterSeconds: Math.ceil((this.#until - now) / 1000) });
  }
}
