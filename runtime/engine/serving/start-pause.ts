// Determines when a worker that exceeded a budget while it was loaded may be started again. Each attempt may use the
// whole startup budget, so without a pause, every request could use as much. lane.ts checks it before it starts an
// isolate. Pure: the time is a parameter.
import { failed, type Outcome } from '../invocation/outcome.ts';

type Failure = Outcome & { kind: 'failed' };

const FIRST_MS = 1000;
const MOST_MS = 60_000;
/** Failures without a pause, because they cost little, or end when another service is available again. */
const COSTLY: ReadonlySet<string> = new Set([
  'startup_cpu_limit_exceeded',
  'memory_limit_exceeded',
  'isolate_replaced',
]);

export class StartPause {
  #failures = 0;
  #until = 0;
  #outcome: Failure | null = null;

  /** Records a failed start. Each failure doubles the pause. */
  failed(outcome: Failure, now: number): void {
    if (!COSTLY.has(outcome.code)) return;
    this.#until = now + Math.min(MOST_MS, FIRST_MS * 2 ** this.#failures++);
    this.#outcome = outcome;
  }

  started(): void {
    this.#failures = 0;
    this.#outcome = null;
  }

  /** The failure for requests until a retry is allowed; null if it is allowed now. */
  answer(now: number): Failure | null {
    if (this.#outcome === null || now >= this.#until) return null;
    const { code, details } = this.#outcome;
    return failed(code, { ...details, retryAfterSeconds: Math.ceil((this.#until - now) / 1000) });
  }
}
