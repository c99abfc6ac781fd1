// Counts of invocations by their CPU, in buckets whose upper ends grow by about 1.41: what an engine counts, and the
// percentiles that the API derives of it. A bucket is read off the bits of a float. Pure.

/** Microseconds below which all is one bucket: 2^5. */
const FIRST_BITS = 5;
/** The last bucket begins at 2^28 us, 268 s. */
const LAST_BITS = 28;

/** Of a 32-bit float: bits behind the leading one, and the exponent that stands for where the second bucket begins. */
const MANTISSA_BITS = 23;
const FIRST_EXPONENT = 127 + FIRST_BITS;
const single = new Float32Array(1);
const bits = new Int32Array(single.buffer);

/** Buckets of a histogram. */
export const CPU_BUCKETS = (LAST_BITS - FIRST_BITS) * 2 + 2;

/**
 * The bucket of an amount of CPU.
 *
 * @example cpuBucket(0.01) // 0
 */
export function cpuBucket(cpuMs: number): number {
  single[0] = cpuMs * 1000;
  // The exponent and the first bit behind the leading one: two buckets for each power of two.
  const bucket = (bits[0]! >> (MANTISSA_BITS - 1)) - FIRST_EXPONENT * 2 + 1;
  return bucket < 0 ? 0 : bucket < CPU_BUCKETS ? bucket : CPU_BUCKETS - 1;
}

/** Where a bucket begins, in ms. */
function startOf(bucket: number): number {
  if (bucket === 0) return 0;
  const half = bucket - 1;
  const begin = 2 ** (FIRST_BITS + (half >> 1));
  return (begin + (half & 1 ? begin / 2 : 0)) / 1000;
}

/**
 * CPU that a share of invocations kept to, in ms: within the width of its bucket, at most a third of it off. Null where
 * nothing was counted.
 *
 * @param counts by bucket; it may be shorter than a histogram.
 * @param share such as 0.99.
 * @param max of the most expensive one, which no answer exceeds.
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
