import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EntryScheduler, type Enterable } from '#runtime/isolates/entry.ts';

function setup(runningMax: number): { scheduler: EntryScheduler; entered: string[]; turn(): void; isolate(name: string): Enterable } {
  const entered: string[] = [];
  const deferred: (() => void)[] = [];
  const scheduler = new EntryScheduler({ runningMax, defer: (callback) => deferred.push(callback) });
  return {
    scheduler,
    entered,
    turn: () => {
      for (const callback of deferred.splice(0)) callback();
    },
    isolate: (name) => ({ entryState: 'idle', enter: () => void entered.push(name) }),
  };
}

test('requests of one turn enter their isolate together', () => {
  const { scheduler, entered, turn, isolate } = setup(2);
  const a = isolate('a');
  scheduler.request(a);
  scheduler.request(a);
  scheduler.request(a);
  assert.deepEqual(entered, []);
  turn();
  assert.deepEqual(entered, ['a']);
  assert.equal(scheduler.running, 1);
});

test('an isolate that runs gets one more entry behind it, and collects the rest until one has left', () => {
  const { scheduler, entered, turn, isolate } = setup(2);
  const a = isolate('a');
  scheduler.request(a);
  turn();
  scheduler.request(a);
  scheduler.request(a);
  assert.deepEqual(entered, ['a']);
  turn();
  assert.deepEqual(entered, ['a', 'a']);
  scheduler.request(a);
  turn();
  assert.deepEqual(entered, ['a', 'a'], 'two are on their way already');
  assert.equal(scheduler.running, 1, 'both are one place');
  scheduler.left(a);
  turn();
  assert.deepEqual(entered, ['a', 'a', 'a']);
  scheduler.left(a);
  scheduler.left(a);
  turn();
  assert.equal(scheduler.running, 0);
  assert.equal(a.entryState, 'idle');
});

test('an isolate gets no second entry while others wait for a place', () => {
  const { scheduler, entered, turn, isolate } = setup(1);
  const a = isolate('a');
  const b = isolate('b');
  scheduler.request(a);
  turn();
  scheduler.request(a);
  scheduler.request(b);
  turn();
  assert.deepEqual(entered, ['a']);
  scheduler.left(a);
  turn();
  scheduler.left(b);
  turn();
  assert.deepEqual(entered, ['a', 'b', 'a']);
});

test('what came back before its turn to follow is entered once', () => {
  const { scheduler, entered, turn, isolate } = setup(2);
  const a = isolate('a');
  scheduler.request(a);
  turn();
  scheduler.request(a);
  scheduler.left(a);
  turn();
  turn();
  assert.deepEqual(entered, ['a', 'a']);
  assert.equal(scheduler.running, 1);
});

test('an isolate that dies with two entries on their way gives its place up once', () => {
  const { scheduler, turn, isolate } = setup(1);
  const a = isolate('a');
  scheduler.request(a);
  turn();
  scheduler.request(a);
  turn();
  assert.equal(a.entryState, 'ahead');
  scheduler.forget(a);
  assert.equal(scheduler.running, 0);
  scheduler.left(a);
  assert.equal(scheduler.running, 0);
});

test('no more than runningMax entries run, and those that wait take turns in order', () => {
  const { scheduler, entered, turn, isolate } = setup(2);
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(isolate) as [Enterable, Enterable, Enterable, Enterable];
  for (const each of [a, b, c, d]) scheduler.request(each);
  turn();
  assert.deepEqual(entered, ['a', 'b']);
  assert.equal(scheduler.waiting, 2);
  scheduler.request(a);
  scheduler.left(a);
  turn();
  assert.deepEqual(entered, ['a', 'b', 'c'], 'a has more to do, but c and d were there first');
  scheduler.left(b);
  turn();
  scheduler.left(c);
  turn();
  assert.deepEqual(entered, ['a', 'b', 'c', 'd', 'a']);
});

test('an isolate that dies while it runs gives its place to the next', () => {
  const { scheduler, entered, turn, isolate } = setup(1);
  const a = isolate('a');
  const b = isolate('b');
  scheduler.request(a);
  scheduler.request(b);
  turn();
  scheduler.forget(a);
  turn();
  assert.deepEqual(entered, ['a', 'b']);
  assert.equal(scheduler.running, 1);
});

test('an isolate that is forgotten while it waits is not entered', () => {
  const { scheduler, entered, turn, isolate } = setup(1);
  const a = isolate('a');
  const b = isolate('b');
  scheduler.request(a);
  scheduler.request(b);
  scheduler.forget(b);
  turn();
  scheduler.left(a);
  turn();
  assert.deepEqual(entered, ['a']);
  assert.equal(scheduler.running, 0);
});

test('a late word of an entry that was forgotten changes nothing', () => {
  const { scheduler, turn, isolate } = setup(1);
  const a = isolate('a');
  scheduler.request(a);
  turn();
  scheduler.forget(a);
  scheduler.left(a);
  assert.equal(scheduler.running, 0);
});
