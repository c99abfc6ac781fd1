// How long an entry that does not end is left alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOOK_MS, looksBeforeGivingUp } from '#runtime/engine/deployments/giving-up.ts';

test('an entry has five seconds and twice the longest limit in it, the first one that of the top level too', () => {
  assert.equal(looksBeforeGivingUp([1000, 15_000, 1000], null) * LOOK_MS, 35_000);
  assert.equal(looksBeforeGivingUp([1000], 5000) * LOOK_MS, 17_000);
});

test('what has no limit is not given up', () => {
  assert.equal(looksBeforeGivingUp([1000, 0], null), Number.POSITIVE_INFINITY);
  assert.equal(looksBeforeGivingUp([1000], 0), Number.POSITIVE_INFINITY);
});
