// Percentiles of CPU from buckets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CPU_BUCKETS, cpuBucket, cpuPercentile } from '#core/cpu-histogram.ts';

test('buckets grow with the CPU, from none to the longest there is', () => {
  let last = 0;
  for (let cpuMs = 0.001; cpuMs < 1e7; cpuMs *= 1.05) {
    const bucket = cpuBucket(cpuMs);
    assert.ok(bucket === last || bucket === last + 1, `${cpuMs}: ${bucket} after ${last}`);
    last = bucket;
  }
  assert.equal(last, CPU_BUCKETS - 1);
  assert.deepEqual([cpuBucket(0), cpuBucket(0.031), cpuBucket(0.032), cpuBucket(0.048)], [0, 0, 1, 2]);
});

test('percentiles are within a third of the truth', () => {
  const counts: number[] = Array.from({ length: CPU_BUCKETS }, () => 0);
  for (let cpuMs = 1; cpuMs <= 1000; cpuMs++) counts[cpuBucket(cpuMs)]!++;
  for (const [share, truth] of [
    [0.5, 500],
    [0.9, 900],
    [0.99, 990],
  ] as const) {
    const found = cpuPercentile(counts, share, 1000)!;
    assert.ok(Math.abs(found - truth) / truth < 1 / 3, `${share}: ${found}`);
  }
  assert.equal(cpuPercentile([], 0.5, 0), null);
  assert.equal(cpuPercentile([10], 0.99, 0.02), 0.02);
});
