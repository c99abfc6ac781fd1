// What organizations may still keep, by plans and by the disk they share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { organizationsLeft, type Keeping } from '#control/storage/left.ts';
import { limitsFrom } from '#core/limits.ts';
import type { Plan } from '#core/plans.ts';

const GB = 2 ** 30;
const { storage: limits } = limitsFrom({});
const bounds = { limits, diskFreeBytesMin: GB };
const keeping = (id: string, gigabytes: number, plan: Plan = 'free', local = gigabytes): Keeping => ({
  id,
  plan,
  bytes: gigabytes * GB,
  localBytes: local * GB,
  projects: [id],
});
const leftOf = (all: readonly Keeping[], free: number, size = 1000): unknown =>
  organizationsLeft(all, { free: free * GB, size: size * GB }, bounds).map(({ id, limit, left }) => [
    id,
    limit === null ? null : limit / GB,
    left / GB,
  ]);

test('a plan bounds what an organization keeps, wherever that lies', () => {
  const all = [keeping('a', 40), keeping('b', 120), keeping('c', 500, 'pro', 0), keeping('d', 5000, 'enterprise', 0)];
  assert.deepEqual(leftOf(all, 900), [
    ['a', 100, 60],
    ['b', 100, 0],
    ['c', 1024, 524],
    // No plan bounds it, and the disk: 1 GB of reserve, 10 GB that are shared.
    ['d', null, 889],
  ]);
});

test('an organization alone may have the disk up to the reserve', () => {
  assert.deepEqual(leftOf([keeping('a', 10)], 5), [['a', 100, 90]]);
  assert.deepEqual(leftOf([keeping('a', 10, 'enterprise')], 5), []);
});

test('the last of the disk is for those that keep less than the average', () => {
  // 11 GB are free, of which one is the reserve and ten are shared.
  assert.deepEqual(
    leftOf([keeping('large', 60), keeping('small', 2), keeping('new', 0)], 11),
    [
      ['large', null, 0],
      ['small', null, 56 / 3],
      ['new', null, 62 / 3],
    ].map(([id, limit, left]) => [id, limit, typeof left === 'number' ? Math.floor(left * GB) / GB : left]),
  );
  // Before that, everybody may take what is above it.
  assert.deepEqual(leftOf([keeping('large', 60), keeping('small', 2)], 15), [
    ['large', null, 4],
    ['small', null, 29],
  ]);
});

test('of a small disk a tenth is shared, and none where the operator says so', () => {
  assert.deepEqual(leftOf([keeping('a', 8), keeping('b', 0)], 4, 20), [
    ['a', null, 1],
    ['b', null, 4],
  ]);
  const none = { limits: { ...limits, diskSharedBytes: 0 }, diskFreeBytesMin: GB };
  assert.deepEqual(
    organizationsLeft([keeping('a', 8), keeping('b', 0)], { free: GB, size: 20 * GB }, none).map(
      ({ left }) => left / GB,
    ),
    [92, 100],
  );
});
