// What a deployment used in some time: engines count it, the supervisor adds it up, the control plane keeps it. Types.
import type { InvocationKind } from './plans.ts';

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
  /** Of the most expensive one, both together. */
  readonly cpuMsMax: number;
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
