import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EntryScheduler, type Enterable } from '#runtime/engine/isolates/entry.ts';

interface Setup {
  scheduler: EntryScheduler;
  entered: string[];
  turn(): void;
  /** The watch fires, and the turn it asks for runs. */
  watch(): void;
  clock: { now: number };
  isolate(name: string): Enterable;
}

function setup(runningMax: number): Setup {
  const entered: string[] = [];
  const deferred: (() => void)[] = [];
  const watches: (() => void)[] = [];
  const clock = { now: 1000 };
  const scheduler = new EntryScheduler({
    runningMax,
    defer: (callback) => deferred.push(callback),
    later: (callback) => watches.push(callback),
    now: () => clock.now,
  });
  const turn = (): void => {
    for (const callback of deferred.splice(0)) callback();
  };
  return {
    scheduler,
    entered,
    turn,
    watch: () => {
      for (const callback of watches.splice(0)) callback();
      turn();
    },
    clock,
    isolate: (name) => ({
      entryState: 'idle',
      isOvertime: false,
      overtimeSince: 0,
      isBurning: false,
      enteredRound: 0,
      conduct: { slowUntil: 0, isBurning: false },
      enter: () => void entered.push(name),
    }),
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
  scheduler.left(a, 50);
  turn();
  assert.deepEqual(entered, ['a', 'a', 'a']);
  scheduler.left(a, 50);
  scheduler.left(a, 50);
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
  scheduler.left(a, 50);
  turn();
  scheduler.left(b, 50);
  turn();
  assert.deepEqual(entered, ['a', 'b', 'a']);
});

test('what came back before its turn to follow is entered once', () => {
  const { scheduler, entered, turn, isolate } = setup(2);
  const a = isolate('a');
  scheduler.request(a);
  turn();
  scheduler.request(a);
  scheduler.left(a, 50);
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
  scheduler.left(a, 50);
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
  scheduler.left(a, 50);
  turn();
  assert.deepEqual(entered, ['a', 'b', 'c'], 'a has more to do, but c and d were there first');
  scheduler.left(b, 50);
  turn();
  scheduler.left(c, 50);
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
  scheduler.left(a, 50);
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
  scheduler.left(a, 50);
  assert.equal(scheduler.running, 0);
});

test('an entry that lasts while others wait loses its place to them', () => {
  const { scheduler, entered, turn, watch, isolate } = setup(1);
  const [spinner, victim] = ['spinner', 'victim'].map(isolate) as [Enterable, Enterable];
  scheduler.request(spinner);
  turn();
  scheduler.request(victim);
  turn();
  assert.deepEqual(entered, ['spinner']);
  watch();
  assert.deepEqual(entered, ['spinner', 'victim']);
  assert.equal(scheduler.running, 2);
  scheduler.left(victim, 50);
  scheduler.left(spinner, 50);
  assert.equal(scheduler.running, 0);
});

test('an entry that began after the watch keeps its place until the next one', () => {
  const { scheduler, entered, turn, watch, isolate } = setup(1);
  const [a, b, c] = ['a', 'b', 'c'].map(isolate) as [Enterable, Enterable, Enterable];
  scheduler.request(a);
  turn();
  scheduler.request(b);
  scheduler.request(c);
  turn();
  scheduler.left(a, 50);
  turn();
  watch();
  assert.deepEqual(entered, ['a', 'b'], 'b began while the watch was on');
  turn();
  watch();
  assert.deepEqual(entered, ['a', 'b', 'c']);
});

test('deployments whose entries last share as many cores as there are, and the others go first', () => {
  const { scheduler, entered, turn, watch, isolate } = setup(2);
  const spinners = ['s0', 's1', 's2', 's3'].map(isolate) as [Enterable, Enterable, Enterable, Enterable];
  for (const each of spinners) scheduler.request(each);
  turn();
  watch();
  watch();
  assert.deepEqual(entered, ['s0', 's1', 's2', 's3'], 'nothing was known of them');
  const [first, second, third] = spinners;
  for (const each of [first, second]) {
    scheduler.left(each, 50);
    scheduler.request(each);
  }
  const victim = isolate('victim');
  scheduler.request(victim);
  watch();
  assert.deepEqual(entered.slice(4), ['victim'], 's2 and s3 run without a place, which is all the slow queue gets');
  scheduler.left(victim, 50);
  turn();
  assert.deepEqual(entered.slice(5), []);
  scheduler.left(third, 50);
  turn();
  assert.deepEqual(entered.slice(5), ['s0', 's1']);
});

test('a deployment is out of the slow queue after a while of good conduct', () => {
  const { scheduler, entered, turn, watch, clock, isolate } = setup(1);
  const [spinner, other, late] = ['spinner', 'other', 'late'].map(isolate) as [Enterable, Enterable, Enterable];
  scheduler.request(spinner);
  turn();
  scheduler.request(other);
  watch();
  scheduler.left(spinner, 50);
  assert.equal(spinner.conduct.slowUntil > clock.now, true);
  scheduler.request(spinner);
  scheduler.request(late);
  scheduler.left(other, 50);
  turn();
  assert.deepEqual(entered, ['spinner', 'other', 'late']);
  scheduler.left(late, 50);
  turn();
  assert.deepEqual(entered, ['spinner', 'other', 'late', 'spinner']);
  scheduler.left(spinner, 50);
  clock.now += 10_000;
  scheduler.request(spinner);
  turn();
  assert.equal(spinner.conduct.slowUntil, 0);
});

test('the slow queue does not starve behind others that never stop', () => {
  const { scheduler, entered, turn, isolate } = setup(1);
  const slow = { ...isolate('slow'), conduct: { slowUntil: 1e9, isBurning: false } };
  const fast = [isolate('a'), isolate('b')] as const;
  for (const each of fast) scheduler.request(each);
  scheduler.request(slow);
  turn();
  for (let round = 0; round < 20 && !entered.includes('slow'); round++) {
    const runs = fast.find(({ entryState }) => entryState !== 'idle' && entryState !== 'ready') as Enterable;
    scheduler.request(runs);
    scheduler.left(runs, 50);
    turn();
  }
  assert.ok(entered.includes('slow'));
});

test('an entry that lost its place since it was kept off its core does not have its deployment stand aside', () => {
  const { scheduler, turn, watch, clock, isolate } = setup(1);
  const [polite, other] = ['polite', 'other'].map(isolate) as [Enterable, Enterable];
  scheduler.request(polite);
  turn();
  scheduler.request(other);
  turn();
  watch();
  assert.equal(polite.conduct.slowUntil > clock.now, true);
  scheduler.left(polite, 7.9);
  assert.deepEqual(polite.conduct, { slowUntil: 0, isBurning: false });
});

test('deployments whose entries last a little do not wait for those that burn', () => {
  const { scheduler, entered, turn, watch, clock, isolate } = setup(2);
  const burners = ['b0', 'b1', 'b2'].map(isolate) as [Enterable, Enterable, Enterable];
  const lasting = isolate('lasting');
  for (const each of burners) scheduler.request(each);
  turn();
  watch();
  watch();
  scheduler.request(lasting);
  turn();
  scheduler.left(lasting, 50);
  lasting.conduct.slowUntil = 1e9;
  clock.now += 100;
  scheduler.request(lasting);
  watch();
  watch();
  assert.deepEqual(entered.slice(3), ['lasting', 'lasting'], 'two burn without a place');
  scheduler.left(burners[0], 400);
  assert.deepEqual(burners[0].conduct.isBurning, true);
  scheduler.left(burners[1], 400);
  for (const each of [burners[2], lasting, lasting]) scheduler.left(each, 50);
  assert.deepEqual([scheduler.running, scheduler.waiting], [0, 0]);
});

test('an isolate that dies in overtime leaves nothing behind', () => {
  const { scheduler, turn, watch, isolate } = setup(1);
  const [spinner, victim] = ['spinner', 'victim'].map(isolate) as [Enterable, Enterable];
  scheduler.request(spinner);
  turn();
  scheduler.request(victim);
  watch();
  scheduler.forget(spinner);
  scheduler.forget(victim);
  assert.equal(scheduler.running, 0);
  assert.equal(scheduler.waiting, 0);
});
