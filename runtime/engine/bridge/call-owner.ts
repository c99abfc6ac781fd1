// The owner charged for a host call. This file contains only types. Invocations are owners, and so is work outside of
// them.
import type { TraceContext } from '../tracing/trace.ts';
import type { InvocationSpans } from '../tracing/invocation-spans.ts';

/** The account of a call. */
export interface CallOwner {
  /** Counts one subrequest. @throws {PlatformError} `subrequest_limit_exceeded`. */
  countSubrequest(): void;
  /** Whether the owner has ended, so that no more work may be done for it. */
  readonly isOver: boolean;
  /** Remaining CPU of the owner's budget; infinite if there is no limit. */
  readonly cpuLeftMs: number;
  /**
   * Reserves CPU for host work before it begins. If the budget has no room, the invocation ends.
   *
   * @throws {PlatformError} `cpu_limit_exceeded`, `invocation_ended`.
   */
  reserveCpu(cpuMs: number): void;
  /** Called when the work has ended, or has not begun: reports the reserved and the used CPU. */
  settleCpu(reservedMs: number, usedMs: number): void;
  /** Runs a callback when the invocation ends, for any reason; immediately if it has already ended. */
  atExit(run: () => void): void;
  /** Host of the request; null for other events. */
  host(): string | null;
  /** A header of the request, by its lower-case name; null for other events. */
  header(name: string): string | null;
  /** The workflow run of which the invocation is an attempt, or null. */
  run(): { readonly workflow: string; readonly id: string } | null;
  /** Number of the invocation; 0 for none. */
  readonly id: number;
  /** The trace that the owner's requests continue. */
  readonly trace: TraceContext | null;
  /** Undefined or null if the trace is not sampled. */
  readonly spans?: InvocationSpans | null;
}
