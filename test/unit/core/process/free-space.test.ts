// Whether a disk has room to be written to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FreeSpace, whereThereIsSpace } from '#core/process/free-space.ts';

test('below the bound writes are refused, which says nothing of the machine, and the disk is looked at once a second', () => {
  let [free, now, looks] = [500, 0, 0];
  const statfs = (folder: string): { bavail: number; bsize: number } => {
    assert.equal(folder, '/data');
    looks++;
    return { bavail: free, bsize: 10 };
  };
  const space = new FreeSpace('/data', 4000, statfs, () => now);
  space.check();
  free = 300;
  now = 999;
  space.check();
  assert.equal(looks, 1);
  now = 1000;
  assert.throws(() => space.check(), {
    code: 'disk_full',
    message: 'The disk of the platform is nearly full: writes are refused until the operator frees space',
  });
  free = 400;
  now = 2000;
  space.check();
  assert.equal(looks, 3);
});

test('a bound of 0 never looks, and a disk that cannot be asked is written to', () => {
  const fails = (): never => {
    throw new Error('no such folder');
  };
  assert.equal(new FreeSpace('/data', 0, fails).isLow, false);
  assert.equal(new FreeSpace('/data', 1, fails).isLow, false);
});

test('of a store, the calls that write are refused and the others are not', () => {
  const full = new FreeSpace('/data', 2, () => ({ bavail: 1, bsize: 1 }));
  const store = whereThereIsSpace(
    { put: (key: string) => `put ${key}`, delete: (key: string) => `deleted ${key}` },
    full,
    ['put'],
  );
  assert.throws(() => store.put('a'), { code: 'disk_full' });
  assert.equal(store.delete('a'), 'deleted a');
});
