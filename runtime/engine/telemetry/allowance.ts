// Limits the telemetry of one project per second, so that a project that writes endlessly takes nothing from other
// projects and its cost for the engine is limited. Used by recorder.ts.
import type { TelemetryLimits } from '#core/limits.ts';

/** A token bucket that refills with time. */
class Bucket {
  #perSecond: number;
  #left: number;
  #at: number;

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#left = 2 * perSecond;
    this.#at = now;
  }

  /** @param kept share of the whole that must remain. */
  take(count: number, now: number, kept: number): boolean {
    const most = 2 * this.#perSecond;
    this.#left = Math.min(most, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#left - count < kept * most) return false;
    this.#left -= count;
    return true;
  }
}

/** Shares that are reserved for warnings, for slow and failed invocations, and for spans of failed invocations. */
const [LINES_KEPT, INVOCATIONS_KEPT, SPANS_KEPT] = [0.2, 0.5, 0.1];
/** Share that slow invocations must leave for failed ones. */
const SLOW_KEPT = 0.25;

/** Average number of spans of a trace. */
const SPANS_A_TRACE = 50;

/** Remaining telemetry of a project, and counts of dropped records. */
export class Allowance {
  readonly dropped = { lines: 0, invocations: 0, spans: 0 };
  /** ms of `performance.now()`. */
  usedAt = 0;
  #lines: Bucket;
  #chars: Bucket;
  #invocations: Bucket;
  #traces: Bucket;
  #spans: Bucket;

  constructor(limits: TelemetryLimits, now: number) {
    this.#lines = new Bucket(limits.linesPerSecond, now);
    this.#chars = new Bucket(limits.bytesPerSecond, now);
    this.#invocations = new Bucket(limits.invocationsPerSecond, now);
    this.#traces = new Bucket(limits.tracesPerSecond, now);
    this.#spans = new Bucket(limits.tracesPerSecond * SPANS_A_TRACE, now);
  }

  /** @param isGrave whether the line is a warning, or concerns an error. */
  line(chars: number, isGrave: boolean, now: number): boolean {
    this.usedAt = now;
    const kept = isGrave ? 0 : LINES_KEPT;
    if (this.#lines.take(1, now, kept) && this.#chars.take(chars, now, kept)) return true;
    this.dropped.lines++;
    return false;
  }

  invocation(isFailure: boolean, isSlow: boolean, now: number): boolean {
    this.usedAt = now;
    if (this.#invocations.take(1, now, isFailure ? 0 : isSlow ? SLOW_KEPT : INVOCATIONS_KEPT)) return true;
    this.dropped.invocations++;
    return false;
  }

  /** @param isFailure whether it is a span of a failed invocation. */
  span(isFailure: boolean, now: number): boolean {
    this.usedAt = now;
    if (this.#spans.take(1, now, isFailure ? 0 : SPANS_KEPT)) return true;
    this.dropped.spans++;
    return false;
  }

  /** Whether another trace may begin. */
  trace(now: number): boolean {
    this.usedAt = now;
    return this.#traces.take(1, now, 0);
  }
}
