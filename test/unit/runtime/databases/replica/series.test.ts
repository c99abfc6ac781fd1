// What the names of a replica's objects say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  objectName,
  packKind,
  planOf,
  rangeOf,
  readName,
  unneeded,
  type ReplicaObject,
} from '#runtime/databases/replica/series.ts';

const objects = (...names: readonly (readonly [fence: number, sequence: number, time: number, kind: string])[]) =>
  names.map((parts) => readName(objectName(...parts))!);
const short = (list: readonly ReplicaObject[]): string[] =>
  list.map(({ fence, sequence, kind }) => `${fence}.${sequence} ${kind}`);
const planned = (list: readonly ReplicaObject[], at: number): unknown => {
  const plan = planOf(list, at);
  return plan === null || plan === undefined ? plan : [...short(plan.snapshot), ...short(plan.changes)];
};

const series = objects(
  [1, 1, 1000, 's1of2'],
  [1, 1, 1000, 's2of2'],
  [1, 2, 1100, packKind(3)],
  [1, 3, 1200, 'c'],
  [1, 4, 1300, 'c'],
  [1, 5, 1400, 's1of1'],
  [1, 6, 1500, 'c'],
);

test('a name is read as it was written, and no other', () => {
  assert.equal(objectName(7, 12, 1_796_076_123_456, 's1of2'), '00000007-00000012-1796076123456-s1of2');
  assert.deepEqual(readName('00000007-00000012-1796076123456-p00000020'), {
    name: '00000007-00000012-1796076123456-p00000020',
    fence: 7,
    sequence: 12,
    time: 1_796_076_123_456,
    kind: 'pack',
    part: 0,
    parts: 0,
    last: 20,
  });
  for (const name of [
    '',
    'x',
    '00000007-00000012-1796076123456-x',
    '7-12-1796076123456-c',
    '00000007-00000012-1796076123456-c2',
  ])
    assert.equal(readName(name), null, name);
});

test('a moment is the newest snapshot before it with the changes until then', () => {
  assert.equal(planned(series, 999), undefined);
  assert.deepEqual(planned(series, 1000), ['1.1 snapshot', '1.1 snapshot']);
  assert.deepEqual(planned(series, 1350), ['1.1 snapshot', '1.1 snapshot', '1.2 pack', '1.4 change']);
  assert.deepEqual(planned(series, 9999), ['1.5 snapshot', '1.6 change']);
});

test('a snapshot of which a part is missing is none', () => {
  const cut = [...series, ...objects([1, 7, 1600, 's1of2'])];
  assert.deepEqual(planned(cut, 9999), ['1.5 snapshot', '1.6 change']);
});

test('a change that is missing is an error, not another state', () => {
  const cut = series.filter(({ kind, sequence }) => kind !== 'pack' && sequence !== 3);
  assert.throws(() => planOf(cut, 1350), /the replica lacks change 2/);
});

test('what an older home wrote after a newer one began is not looked at', () => {
  const both = [...series, ...objects([2, 1, 1450, 's1of1'], [2, 2, 1460, 'c'])];
  assert.deepEqual(planned(both, 1440), ['1.5 snapshot']);
  assert.deepEqual(planned(both, 1600), ['2.1 snapshot', '2.2 change']);
});

test('a deleted database is restored to moments before that, and to none after', () => {
  const gone = [...series, ...objects([1, 7, 1600, 'd'])];
  assert.deepEqual(planned(gone, 1599), ['1.5 snapshot', '1.6 change']);
  assert.equal(planned(gone, 1600), null);
  assert.deepEqual(rangeOf(gone), { oldest: 1000, newest: 1600 });
  assert.deepEqual(short(unneeded(gone, 1500)), [
    '1.1 snapshot',
    '1.1 snapshot',
    '1.2 pack',
    '1.3 change',
    '1.4 change',
  ]);
  assert.equal(unneeded(gone, 1600).length, gone.length);
});

test('what the oldest moment that is kept needs stays', () => {
  assert.deepEqual(unneeded(series, 1399), []);
  assert.deepEqual(short(unneeded(series, 1400)), [
    '1.1 snapshot',
    '1.1 snapshot',
    '1.2 pack',
    '1.3 change',
    '1.4 change',
  ]);
});
