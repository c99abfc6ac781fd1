// Quantiles of CPU and latency from buckets, and merged histograms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bucketOf,
  cpuScale,
  latencyOf,
  latencyScale,
  mergeCounts,
  NO_COUNTS,
  quantile,
  toSparse,
  type Scale,
} from '#core/histogram.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const random = createSeededRandom();
const fraction = (): number => random.below(2 ** 31) / 2 ** 31;

function counted(scale: Scale, values: readonly number[]): number[] {
  const counts = Array.from({ length: scale.buckets }, () => 0);
  for (const value of values) counts[bucketOf(scale, value)]!++;
  return counts;
}

for (const [name, scale] of Object.entries({ cpuScale, latencyScale }))
  test(`buckets of ${name} grow with the duration, from the first to the last`, () => {
    let last = 0;
    for (let ms = 0.001; ms < 1e7; ms *= 1.02) {
      const bucket = bucketOf(scale, ms);
      assert.ok(bucket === last || bucket === last + 1, `${ms}: ${bucket} after ${last}`);
      last = bucket;
    }
    assert.equal(last, scale.buckets - 1);
  });

test('buckets begin at fixed durations', () => {
  assert.deepEqual(
    [0, 0.031, 0.032, 0.048].map((ms) => bucketOf(cpuScale, ms)),
    [0, 0, 1, 2],
  );
  assert.deepEqual(
    [0, 0.127, 0.128, 0.136, 0.256, 1_073_741, 1_073_742, 1e12].map((ms) => bucketOf(latencyScale, ms)),
    [0, 0, 1, 2, 17, 368, 369, 369],
  );
});

test('quantiles of CPU are within a third of the truth', () => {
  const values = Array.from({ length: 1000 }, (_, at) => at + 1);
  for (const [share, truth] of [
    [0.5, 500],
    [0.9, 900],
    [0.99, 990],
  ] as const) {
    const found = quantile(cpuScale, counted(cpuScale, values).entries(), share, 1000)!;
    assert.ok(Math.abs(found - truth) / truth < 1 / 3, `${share}: ${found}`);
  }
  assert.equal(quantile(cpuScale, [], 0.5, 0), null);
  assert.equal(quantile(cpuScale, [[0, 10]], 0.99, 0.02), 0.02);
});

test('quantiles of latencies of any distribution are within 6.25 % of the truth', () => {
  for (let round = 0; round < 50; round++) {
    const [spread, middle] = [fraction() * 4, 1 + fraction() * 3000];
    const values = Array.from({ length: 1 + random.below(3000) }, () =>
      Math.min(1_000_000, Math.max(0.2, middle * Math.exp(spread * (fraction() - 0.5)))),
    ).toSorted((a, b) => a - b);
    const found = latencyOf(toSparse(counted(latencyScale, values)))!;
    for (const [name, share] of [
      ['p50', 0.5],
      ['p95', 0.95],
      ['p99', 0.99],
    ] as const) {
      const truth = values[Math.ceil(values.length * share) - 1]!;
      assert.ok(
        Math.abs(found[name] - truth) / truth <= 0.0626,
        `seed ${random.seed}: ${name} is ${found[name]}, not ${truth}`,
      );
    }
  }
});

test('merged histograms are those of all values, in whatever order they are merged', () => {
  for (let round = 0; round < 50; round++) {
    const parts = Array.from({ length: 5 }, () =>
      Array.from({ length: random.below(40) }, () => fraction() ** 4 * 100_000),
    );
    const whole = toSparse(counted(latencyScale, parts.flat()));
    const sparse = parts.map((values) => toSparse(counted(latencyScale, values)));
    assert.deepEqual(sparse.reduce(mergeCounts, NO_COUNTS), whole, `seed ${random.seed}`);
    assert.deepEqual(sparse.toReversed().reduce(mergeCounts, NO_COUNTS), whole, `seed ${random.seed}`);
  }
});

test('nothing counted has no latency', () => {
  assert.equal(latencyOf(NO_COUNTS), null);
});
