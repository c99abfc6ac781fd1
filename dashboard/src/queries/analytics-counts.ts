// Numbers of analytics as the API returns them. This file contains only types, which functions that compute further
// values import.

/** Quantiles in milliseconds. */
interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Sums of a period, an interval or a route. */
export interface Counts {
  readonly requests: number;
  readonly failures: number;
  readonly status: Readonly<Record<'2xx' | '3xx' | '4xx' | '5xx' | 'other', number>>;
  readonly cpuMs: number;
  /** CPU of the most expensive request. */
  readonly cpuMsMax: number;
  /** Latency until the first byte of the response; null if nothing was measured. */
  readonly firstByteMs: Latency | null;
  readonly answerMs: Latency | null;
}

/** Counts over time; intervals without requests are omitted. */
export interface Measured {
  readonly from: string;
  readonly to: string;
  readonly stepMs: number;
  readonly series: readonly (Counts & { readonly at: string })[];
}

/** Counts of a deployment, and of the deployment that it is compared with. */
export interface Compared extends Measured {
  readonly deploymentId: string | null;
  readonly compared: (Pick<Measured, 'series'> & { readonly deploymentId: string }) | null;
}
