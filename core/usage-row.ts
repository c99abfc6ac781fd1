// Usage of a deployment over a period: counted by engines, summed by the supervisor, stored by the control plane.
// Types, and merging of rows. Pure.
import type { MeasuredKind } from './bindings/kinds.ts';
import { mergeCounts, type SparseCounts } from './histogram.ts';
import type { InvocationKind } from './plans.ts';

/** An invocation that came close to its CPU budget. */
export interface CostlyInvocation {
  /** Id of the invocation in the log. */
  readonly id: string;
  /** When the invocation ended, in ms since 1970. */
  readonly at: number;
  readonly cpuMs: number;
  readonly isFailure: boolean;
}

/**
 * Classes of status codes. `4xx` includes clients that disconnected before a response (499). `other` means open
 * WebSockets (101).
 */
export const statusClasses = ['2xx', '3xx', '4xx', '5xx', 'other'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** Invocations of a deployment, or calls of its bindings. Sums of invocations leave out the calls. */
export type UsageKind = InvocationKind | MeasuredKind;

/** Usage of one deployment, kind and route. */
export interface UsageRow {
  readonly project: string;
  readonly deployment: string;
  readonly kind: UsageKind;
  /**
   * The first segments of the paths of requests, or `(files)` for requests answered by a file. The name of the queue,
   * timer, schedule or workflow of events. For binding calls, this is the resource; resources of previews end with
   * their branch (`ofPreview` in core/preview.ts). '' for objects, and for code that continued after an event.
   */
  readonly route: string;
  readonly invocations: number;
  /** Invocations with a status of 5xx or an outcome other than `ok`; for calls, the failed calls. */
  readonly failures: number;
  /** Requests by status class, in the order of {@link statusClasses}; zeros for other kinds. */
  readonly statuses: readonly number[];
  /** CPU of the worker's code, and of host work for it. */
  readonly cpuMs: number;
  readonly hostCpuMs: number;
  /** CPU of the most expensive invocation, within one budget. */
  readonly cpuMsMax: number;
  /** Invocations by their CPU: counts by bucket of `cpuScale` (core/histogram.ts), without trailing zeros. */
  readonly cpuCounts: readonly number[];
  /** Requests by time to first byte, on `latencyScale`; empty for files and other kinds. */
  readonly firstByte: SparseCounts;
  /**
   * Invocations by time to the end of their response, and calls by their duration, on `latencyScale`; empty for files
   * and WebSockets.
   */
  readonly answer: SparseCounts;
  /** The most expensive invocations first; an engine lists one per report. */
  readonly costliest: readonly CostlyInvocation[];
}

/** Usage over an hour, or over a minute of it. */
export interface TimedUsageRow extends UsageRow {
  /** ISO time of the start of the hour. */
  readonly hour: string;
  /** ISO time of the start of the minute; null if the minute is not known, because too many rows were waiting. */
  readonly minute: string | null;
}

/** `POST /_platform/usage`: a batch, repeated until it is acknowledged. */
export interface UsageBatch {
  /** Null: no usage. */
  readonly id: string | null;
  readonly rows: readonly TimedUsageRow[];
}

/** How many invocations are listed per deployment, kind, route and period. */
export const COSTLIEST_MAX = 3;

/** Sums two rows of the same deployment, kind and route; other fields are taken from the first row. */
export function mergeUsage<Row extends UsageRow>(one: Row, other: UsageRow): Row {
  return {
    ...one,
    invocations: one.invocations + other.invocations,
    failures: one.failures + other.failures,
    statuses: addCounts(one.statuses, other.statuses),
    cpuMs: one.cpuMs + other.cpuMs,
    hostCpuMs: one.hostCpuMs + other.hostCpuMs,
    cpuMsMax: Math.max(one.cpuMsMax, other.cpuMsMax),
    cpuCounts: addCounts(one.cpuCounts, other.cpuCounts),
    firstByte: mergeCounts(one.firstByte, other.firstByte),
    answer: mergeCounts(one.answer, other.answer),
    costliest: mergeCostliest(one.costliest, other.costliest),
  };
}

/** The most expensive entries of both lists. */
function mergeCostliest(one: readonly CostlyInvocation[], other: readonly CostlyInvocation[]) {
  if (one.length === 0) return other;
  return [...one, ...other].sort((a, b) => b.cpuMs - a.cpuMs).slice(0, COSTLIEST_MAX);
}

/** Sums both counts, bucket by bucket. */
function addCounts(one: readonly number[], other: readonly number[]): readonly number[] {
  if (one.length < other.length) return addCounts(other, one);
  return one.map((count, bucket) => count + (other[bucket] ?? 0));
}
