import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLasting, firstCountIn } from '#control/storage/follow.ts';

test('the first count waits for the rest of a minute since the last one, and for no more than that', () => {
  const now = Date.parse('2026-11-29T10:00:00Z');
  const after = (last: string | null): number => firstCountIn(last === null ? null : new Date(last), now);
  assert.equal(after(null), 0);
  assert.equal(after('2026-11-29T09:59:45Z'), 45_000);
  assert.equal(after('2026-11-29T09:59:00Z'), 0);
  assert.equal(after('2026-11-28T10:00:00Z'), 0);
  // The clock went back.
  assert.equal(after('2026-11-29T11:00:00Z'), 60_000);
});

test('what counts miss is said once, when it lasts, and again after it was over', () => {
  const news = createLasting();
  assert.deepEqual(news(['no engine']), []);
  assert.deepEqual(news(['no engine']), ['no engine']);
  assert.deepEqual(news(['no engine', 'no folder']), []);
  assert.deepEqual(news(['no engine', 'no folder']), ['no folder']);
  assert.deepEqual(news([]), []);
  assert.deepEqual(news(['no engine']), []);
  assert.deepEqual(news(['no engine']), ['no engine']);
});
