// The concurrency of each project on what all share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefixEnd } from '#runtime/stores/sql.ts';
import { limitByProject, limitCalls } from '#runtime/stores/project-concurrency.ts';

test('so many of an owner run at a time, in their order, and others do not wait for them', async () => {
  const limited = limitByProject(2);
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => (): Promise<void> => {
    order.push(name);
    return new Promise((resolve) => ends.push(resolve));
  };
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => limited('a', work(name)));
  const other = limited('b', work('b1'));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ['a1', 'a2', 'b1']);
  ends[1]!();
  await all[1];
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3']);
  ends[0]!();
  await new Promise((resolve) => setImmediate(resolve));
  for (const end of ends) end();
  await Promise.all([...all, other]);
  assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3', 'a4']);
});

test('one that fails hands its place on', async () => {
  const limited = limitByProject(1);
  const failing = limited('a', () => Promise.reject(new Error('no')));
  const next = limited('a', async () => 'next');
  await assert.rejects(failing, { message: 'no' });
  assert.equal(await next, 'next');
  assert.equal(await limited('a', async () => 'again'), 'again');
});

test('only the calls that are named are limited', async () => {
  let turnsTaken = 0;
  const store = {
    list: async ({ namespace }: { namespace: string }) => namespace,
    get: async (_place: { namespace: string }) => 'got',
  };
  const fair = limitCalls(store, (_owner, work) => (turnsTaken++, work()), ['list']);
  assert.deepEqual(
    [await fair.list({ namespace: 'a' }), await fair.get({ namespace: 'a' }), turnsTaken],
    ['a', 'got', 1],
  );
});

test('the end of a prefix is the first text behind all that begin with it, in byte order', () => {
  assert.deepEqual(['a', 'a/', 'é', 'a\u{10ffff}', '\ud7ff', '\u{1f600}'].map(prefixEnd), [
    'b',
    'a0',
    'ê',
    'b',
    '\ue000',
    '\u{1f601}',
  ]);
  for (const prefix of ['', '\u{10ffff}'])
    assert.ok(Buffer.compare(Buffer.from(prefixEnd(prefix)), Buffer.from('\u{10ffff}'.repeat(256))) > 0);
});
