// Which parts of the slow suites a submission runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseParts, roomFor, shareOf, type Part } from '#cli/tasks/suites/choose.ts';

const part = (name: string, cost: number, distance: number | null): Part => ({ suite: 's', name, cost, distance });
const names = (choices: readonly { readonly part: Part }[]): readonly string[] =>
  choices.map(({ part: { name } }) => name);

test('what the change reaches comes first, the nearest, of those the ones in the share, then the cheapest', () => {
  const parts = [part('low', 10, 5), part('dear', 20, 1), part('late', 5, 1), part('far', 4, 1)];
  const share = 0;
  assert.deepEqual(
    parts.map((one) => shareOf(one) === share),
    [true, true, false, false],
  );
  assert.deepEqual(names(chooseParts(parts, 100, share).chosen), ['dear', 'far', 'late', 'low']);
});

test('a change that reaches everything stays within the cost, and what was left out has its reason', () => {
  const parts = Array.from({ length: 30 }, (_, at) => part(`p${at}`, 70, 2));
  const { chosen, left } = chooseParts(parts, 1000, 0);
  assert.equal(chosen.length, 14);
  assert.equal(left.length, 16);
  assert.equal(left[0]!.reason, '2 steps from the change, but takes 70 s where 20 s are left');
});

test('without a change the six shares are everything, each part in one of them', () => {
  const parts = Array.from({ length: 40 }, (_, at) => part(`p${at}`, 1, null));
  const shares = [0, 1, 2, 3, 4, 5].map((share) => names(chooseParts(parts, 1000, share).chosen));
  assert.deepEqual(shares.flat().toSorted(), names(parts.map((one) => ({ part: one }))).toSorted());
  assert.ok(shares.every((share) => share.length > 0));
  assert.equal(
    chooseParts(parts, 1000, 0).left[0]!.reason,
    `not reached by the change, in share ${shareOf(parts.find((one) => shareOf(one) !== 0)!)}`,
  );
});

test('a machine has time for what it can do until the end at the speed of npm test', () => {
  assert.equal(roomFor(480, 0.6), 800);
  assert.equal(roomFor(480, 1.2), 400);
  assert.equal(roomFor(-30, 0.6), 0);
});
