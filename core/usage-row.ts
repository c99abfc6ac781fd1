// What a deployment used in some time: engines count it, the supervisor adds it up, the control plane keeps it. Types,
// and how two lists of the most expensive invocations become one. Pure.
import type { InvocationKind } from './plans.ts';

/** One invocation that came near to its budget. */
export interface CostlyInvocation {
  /** As the log calls it. */
  readonly id: string;
  /** When it ended, in ms since 1970. */
  readonly at: number;
  readonly cpuMs: number;
  readonly isFailure: boolean;
}

/** Of one deployment, kind and route. */
export interface UsageRow {
  readonly project: string;
  readonly deployment: string;
  readonly kind: InvocationKind;
  /** Of requests: the first parts of their paths, or `(files)` for those that a file answered; else ''. */
  readonly route: string;
  readonly invocations: number;
  readonly failures: number;
  /** Of the worker's code, and what the host worked for it. */
  readonly cpuMs: number;
  readonly hostCpuMs: number;
  /** Of the most expensive one, both together, in one budget. */
  readonly cpuMsMax: number;
  /** Invocations by their CPU: counts by bucket of cpu-histogram.ts, without the zeros at the end. */
  readonly cpuCounts: readonly number[];
  /** The most expensive ones, the worst first; an engine names one each time it is asked. */
  readonly costliest: readonly CostlyInvocation[];
}

/** `POST /_platform/usage`: a batch, the same until it is acknowledged. */
export interface UsageBatch {
  /** Null: nothing was used. */
  readonly id: string | null;
  readonly rows: readonly (UsageRow & {
    /** ISO time at which the hour begins. */
    readonly hour: string;
  })[];
}

/** Invocations that are named of a deployment, kind, route and hour. */
export const COSTLIEST_MAX = 3;

/** The worst of both. */
export function mergeCostliest(one: readonly CostlyInvocation[], other: readonly CostlyInvocation[]) {
  if (one.length === 0) return other;
  return [...one, ...other].sort((a, b) => b.cpuMs - a.cpuMs).slice(0, COSTLIEST_MAX);
}

/** Counts of both, bucket by bucket. */
export function addCounts(one: readonly number[], other: readonly number[]): readonly number[] {
  if (one.length < other.length) return addCounts(other, one);
  return one.map((count, bucket) => count + (other[bucket] ?? 0));
}
