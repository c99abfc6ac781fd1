// What remains for failures and slow invocations when a project uses all of its telemetry.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { Allowance } from '#runtime/engine/telemetry/allowance.ts';

const limits = { ...defaultLimits.telemetry, invocationsPerSecond: 100, tracesPerSecond: 2 };

function kept(count: number, take: () => boolean): number {
  return Array.from({ length: count }, take).filter(Boolean).length;
}

test('invocations leave room for slow ones, and both for failed ones', () => {
  const allowance = new Allowance(limits, 0);
  const take = (isFailure: boolean, isSlow: boolean) => () => allowance.invocation(isFailure, isSlow, 0);
  assert.equal(kept(1000, take(false, false)), 100);
  assert.equal(kept(1000, take(false, true)), 50);
  assert.equal(kept(1000, take(true, false)), 50);
  assert.equal(allowance.dropped.invocations, 2800);
});

test('forty a second are all kept, and all failures in a flood of two hundred a second', () => {
  const allowance = new Allowance(limits, 0);
  for (let at = 0; at < 60_000; at += 25) assert.ok(allowance.invocation(false, false, at));
  let failures = 0;
  for (let at = 60_000; at < 120_000; at += 5) {
    const isFailure = at % 500 === 0;
    if (allowance.invocation(isFailure, false, at) && isFailure) failures++;
  }
  assert.equal(failures, 120);
});

test('spans of a flood leave room for those of failures', () => {
  const allowance = new Allowance(limits, 0);
  assert.equal(
    kept(1000, () => allowance.span(false, 0)),
    180,
  );
  assert.equal(
    kept(1000, () => allowance.span(true, 0)),
    20,
  );
});
