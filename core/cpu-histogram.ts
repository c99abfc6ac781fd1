// Histogram of invocations by CPU, in buckets whose upper limits grow by about 1.41: counted by engines, with
// percentiles computed by the API. Adding takes a few integer operations. Pure.

/** Everything below this is one bucket: 2^5 us. */
const FIRST_BITS = 5;
/** The last bucket begins at 2^28 us, 268 s. */
const LAST_BITS = 28;

/** Number of buckets in a histogram. */
export const CPU_BUCKETS = (LAST_BITS - FIRST_BITS) * 2 + 2;

/**
 * The bucket of an amount of CPU.
 *
 * @example cpuBucket(0.01) // 0
 */
export function cpuBucket(cpuMs: number): number {
  if (cpuMs * 1000 >= 2 ** LAST_BITS) return CPU_BUCKETS - 1;
  const us = (cpuMs * 1000) | 0;
  if (us < 1 << FIRST_BITS) return 0;
  const bits = 31 - Math.clz32(us);
  return (bits - FIRST_BITS) * 2 + ((us >> (bits - 1)) & 1) + 1;
}

/** Where a bucket begins, in ms. */
function startOf(bucket: number): number {
  if (bucket === 0) return 0;
  const half = bucket - 1;
  const begin = 2 ** (FIRST_BITS + (half >> 1));
  return (begin + (half & 1 ? begin / 2 : 0)) / 1000;
}

/**
 * CPU percentile in ms: within the width of its bucket, which is at most a third off. Null if nothing was counted.
 *
 * @param counts by bucket; it may be shorter than a histogram.
 * @param share such as 0.99.
 * @param max of the most expensive one, an upper limit of the result.
 */
export function cpuPercentile(counts: readonly number[], share: number, max: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = total * share;
  for (const [bucket, count] of counts.entries()) {
    if (left <= count) {
      const [start, end] = [startOf(bucket), startOf(bucket + 1)];
      return Math.min(start + (end - start) * (left / count), max);
    }
    left -= count;
  }
  return max;
}
