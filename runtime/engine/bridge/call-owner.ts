// What a host call is charged to. Types only; invocations are owners, and so is what runs outside of them.
import type { TraceContext } from '../invocation/trace.ts';
import type { InvocationSpans } from '../telemetry/invocation-spans.ts';

/** What the call is charged to. */
export interface CallOwner {
  /** Counts one subrequest. @throws {PlatformError} `subrequest_limit_exceeded`. */
  countSubrequest(): void;
  /** Nothing is to be done for it any more. */
  readonly isOver: boolean;
  /** CPU that its budget has left; infinite where there is no limit. */
  readonly cpuLeftMs: number;
  /**
   * Sets CPU aside for work of the host before it begins: where the budget has no room for it, the invocation is over.
   *
   * @throws {PlatformError} `cpu_limit_exceeded`, `invocation_ended`.
   */
  reserveCpu(cpuMs: number): void;
  /** The work has ended, or never began: what was set aside for it, and what it took. */
  settleCpu(reservedMs: number, usedMs: number): void;
  /** Has something run when the invocation is over, however it ended; at once where it is. */
  atEnd(run: () => void): void;
  /** Host that the request came to; null for other events. */
  host(): string | null;
  /** Of the request that is served, by its name in lower case; null for other events. */
  header(name: string): string | null;
  /** The run of a workflow that it is an attempt of; null: none. */
  run(): { readonly workflow: string; readonly id: string } | null;
  /** Number of the invocation; 0 for none. */
  readonly id: number;
  /** The trace that requests made for it continue. */
  readonly trace: TraceContext | null;
  /** Absent or null: it is not sampled. */
  readonly spans?: InvocationSpans | null;
}
