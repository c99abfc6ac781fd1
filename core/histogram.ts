// Histograms of durations that can be merged: counts in buckets whose limits grow geometrically, the same in every
// process. Engines count, the control plane merges and computes quantiles. Adding a duration takes a few integer
// operations. Pure.

/** A fixed scheme of buckets: each power of two of microseconds is divided into equal parts. */
export interface Scale {
  /** Durations below 2^firstBits us share the first bucket. */
  readonly firstBits: number;
  /** Start of the last bucket, in us; at most 2^30. */
  readonly lastUs: number;
  /** A power of two has 2^partBits buckets: a quantile is at most 1 / 2^partBits off. */
  readonly partBits: number;
  /** Number of buckets. */
  readonly buckets: number;
}

const scale = (firstBits: number, lastBits: number, partBits: number): Scale => ({
  firstBits,
  lastUs: 2 ** lastBits,
  partBits,
  buckets: ((lastBits - firstBits) << partBits) + 2,
});

/**
 * CPU of an invocation: 32 us to 268 s. A bucket's end is at most half above its start, and quantiles are at most a
 * third off.
 */
export const cpuScale = scale(5, 28, 1);
/** Latency of a response: 128 us to 1073 s. Quantiles are at most 6.25 % off. */
export const latencyScale = scale(7, 30, 4);

/** Counts of the buckets that are not empty: `counts[i]` is of the bucket `buckets[i]`, in ascending order. */
export interface SparseCounts {
  readonly buckets: readonly number[];
  readonly counts: readonly number[];
}

/** Nothing counted. */
export const NO_COUNTS: SparseCounts = { buckets: [], counts: [] };

/**
 * The bucket of a duration.
 *
 * @example bucketOf(cpuScale, 0.01) // 0
 */
export function bucketOf({ firstBits, lastUs, partBits, buckets }: Scale, ms: number): number {
  if (ms * 1000 >= lastUs) return buckets - 1;
  const us = (ms * 1000) | 0;
  if (us < 1 << firstBits) return 0;
  const bits = 31 - Math.clz32(us);
  return ((bits - firstBits) << partBits) + ((us >> (bits - partBits)) & ((1 << partBits) - 1)) + 1;
}

/** Start of a bucket, in ms. */
function startOf({ firstBits, partBits }: Scale, bucket: number): number {
  if (bucket === 0) return 0;
  const begin = 2 ** (firstBits + ((bucket - 1) >> partBits));
  const part = (bucket - 1) & ((1 << partBits) - 1);
  return (begin + (begin * part) / (1 << partBits)) / 1000;
}

/**
 * A quantile in ms, interpolated within its bucket. Null if nothing was counted.
 *
 * @param counted pairs of a bucket and its count, in ascending order of buckets.
 * @param share such as 0.99. @param max the longest duration, as an upper limit of the result; by default there is
 * none.
 */
export function quantile(
  of: Scale,
  counted: Iterable<readonly [bucket: number, count: number]>,
  share: number,
  max: number = Number.POSITIVE_INFINITY,
): number | null {
  const pairs = [...counted];
  const total = pairs.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  let left = total * share;
  for (const [bucket, count] of pairs) {
    if (left <= count) {
      const [start, end] = [startOf(of, bucket), startOf(of, bucket + 1)];
      return Math.min(start + (end - start) * (left / count), max);
    }
    left -= count;
  }
  return max;
}

/** Quantiles of a latency, in ms. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Quantiles of durations that were counted on {@link latencyScale}; null if nothing was counted. */
export function latencyOf(counted: SparseCounts): Latency | null {
  const pairs = counted.buckets.map((bucket, at) => [bucket, counted.counts[at]!] as const);
  const p50 = quantile(latencyScale, pairs, 0.5);
  if (p50 === null) return null;
  return { p50, p95: quantile(latencyScale, pairs, 0.95)!, p99: quantile(latencyScale, pairs, 0.99)! };
}

/** The non-empty buckets of an array of counts. */
export function toSparse(counted: ArrayLike<number>): SparseCounts {
  const [buckets, counts]: [number[], number[]] = [[], []];
  for (let bucket = 0; bucket < counted.length; bucket++) {
    const count = counted[bucket]!;
    if (count === 0) continue;
    buckets.push(bucket);
    counts.push(count);
  }
  return { buckets, counts };
}

/** Merges two histograms of the same scale. */
export function mergeCounts(one: SparseCounts, other: SparseCounts): SparseCounts {
  if (one.buckets.length === 0) return other;
  if (other.buckets.length === 0) return one;
  const [buckets, counts]: [number[], number[]] = [[], []];
  for (let [i, j] = [0, 0]; i < one.buckets.length || j < other.buckets.length;) {
    const [left, right] = [one.buckets[i] ?? Infinity, other.buckets[j] ?? Infinity];
    buckets.push(Math.min(left, right));
    counts.push((left <= right ? one.counts[i++]! : 0) + (right <= left ? other.counts[j++]! : 0));
  }
  return { buckets, counts };
}
