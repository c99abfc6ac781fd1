// How long an entry that does not end is left alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECK_MS, checksUntilStuck } from '#runtime/engine/deployments/stuck-entry.ts';

test('an entry has five seconds and twice the longest limit in it, the first one that of the top level too', () => {
  assert.equal(checksUntilStuck([1000, 15_000, 1000], null) * CHECK_MS, 35_000);
  assert.equal(checksUntilStuck([1000], 5000) * CHECK_MS, 17_000);
});

test('what has no limit is not given up', () => {
  assert.equal(checksUntilStuck([1000, 0], null), Number.POSITIVE_INFINITY);
  assert.equal(checksUntilStuck([1000], 0), Number.POSITIVE_INFINITY);
});
