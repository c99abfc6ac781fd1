// Usage of a deployment over a period: counted by engines, summed by the supervisor, stored by the control plane.
// Types, and merging of two lists of the most expensive invocations. Pure.
import type { InvocationKind } from './plans.ts';

/** An invocation close to its budget. */
export interface CostlyInvocation {
  /** Id in the log. */
  readonly id: string;
  /** When it ended, in ms since 1970. */
  readonly at: number;
  readonly cpuMs: number;
  readonly isFailure: boolean;
}

/** For one deployment, kind and route. */
export interface UsageRow {
  readonly project: string;
  readonly deployment: string;
  readonly kind: InvocationKind;
  /** For requests: the first segments of their paths, or `(files)` for those answered by a file; else ''. */
  readonly route: string;
  readonly invocations: number;
  readonly failures: number;
  /** CPU of the worker's code, and of host work for it. */
  readonly cpuMs: number;
  readonly hostCpuMs: number;
  /** The same for the most expensive invocation, within one budget. */
  readonly cpuMsMax: number;
  /** Invocations by their CPU: counts by bucket of cpu-histogram.ts, without trailing zeros. */
  readonly cpuCounts: readonly number[];
  /** The most expensive ones, worst first; an engine lists one per report. */
  readonly costliest: readonly CostlyInvocation[];
}

/** `POST /_platform/usage`: a batch, repeated until it is acknowledged. */
export interface UsageBatch {
  /** Null: no usage. */
  readonly id: string | null;
  readonly rows: readonly (UsageRow & {
    /** ISO time of the start of the hour. */
    readonly hour: string;
  })[];
}

/** Listed invocations per deployment, kind, route and hour. */
export const COSTLIEST_MAX = 3;

/** The worst of both lists. */
export function mergeCostliest(one: readonly CostlyInvocation[], other: readonly CostlyInvocation[]) {
  if (one.length === 0) return other;
  return [...one, ...other].sort((a, b) => b.cpuMs - a.cpuMs).slice(0, COSTLIEST_MAX);
}

/** Sums both counts, bucket by bucket. */
export function addCounts(one: readonly number[], other: readonly number[]): readonly number[] {
  if (one.length < other.length) return addCounts(other, one);
  return one.map((count, bucket) => count + (other[bucket] ?? 0));
}
