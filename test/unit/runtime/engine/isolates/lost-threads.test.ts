// What becomes of threads that are lost: charged, put behind the others, and a reason to replace their engine. Their
// words are written here, as the native watch does it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LostThreads } from '#runtime/engine/isolates/lost-threads.ts';
import { shownWords } from '#runtime/engine/isolates/stuck-entry.ts';

const CPU_MS_MAX = 10_000;
const LOWEST = 19;

/** A system that counts priorities, and may refuse. */
class Priorities {
  readonly all = new Map<number, number>();
  refusal: string | null = null;

  get(thread: number): number {
    return this.all.get(thread) ?? 0;
  }

  set(thread: number, priority: number): void {
    if (this.refusal !== null) throw Object.assign(new Error('refused'), { info: { code: this.refusal } });
    this.all.set(thread, priority);
  }
}

class Thread {
  readonly shown = new Int32Array(shownWords.count);
  readonly burnt: number[] = [];
  readonly given;

  constructor(owner: string, thread: number, { organization = null as string | null, chargedMs = 0 } = {}) {
    this.shown[shownWords.thread] = thread;
    this.used(chargedMs);
    this.given = {
      owner,
      organization,
      shown: this.shown,
      chargedMs,
      onBurnt: (ms: number) => void this.burnt.push(ms),
    };
  }

  used(ms: number): void {
    this.shown[shownWords.usedMs] = ms;
  }

  end(): void {
    this.shown[shownWords.thread] = 0;
  }
}

function create(): { threads: LostThreads; priorities: Priorities } {
  const priorities = new Priorities();
  return { threads: new LostThreads(CPU_MS_MAX, priorities), priorities };
}

test('what a lost thread burns is charged as it burns, and it runs behind all others at once', (t) => {
  const { threads, priorities } = create();
  t.after(() => threads.close());
  const thread = new Thread('shop/d1', 71, { chargedMs: 6000 });
  threads.watch(thread.given, 'endless');
  assert.equal(priorities.get(71), LOWEST);
  assert.deepEqual(threads.takeLost(), [{ owner: 'shop/d1', organization: null, reason: 'endless' }]);
  assert.deepEqual(threads.takeLost(), []);
  thread.used(6400);
  threads.look();
  threads.look();
  thread.used(6450);
  threads.look();
  assert.deepEqual([thread.burnt, threads.burntMs, threads.count], [[400, 50], 450, 1]);
  // It ends by itself in the end.
  thread.used(6500);
  thread.end();
  threads.look();
  assert.deepEqual([thread.burnt, threads.count, threads.isEmpty], [[400, 50, 50], 0, true]);
  assert.equal(priorities.get(71), 0);
  assert.equal(threads.replacement, null);
});

test('a thread that was told to end is charged too, and is lost when it does not end for five seconds of CPU', (t) => {
  const { threads, priorities } = create();
  t.after(() => threads.close());
  const [ends, lasts] = [new Thread('shop/d1', 71), new Thread('cart/d2', 72)];
  threads.watch(ends.given, null);
  threads.watch(lasts.given, null);
  ends.used(300);
  ends.end();
  lasts.used(5000);
  threads.look();
  assert.deepEqual([ends.burnt, lasts.burnt, threads.count, threads.burntMs], [[300], [5000], 0, 0]);
  lasts.used(5001);
  threads.look();
  assert.deepEqual([threads.count, threads.burntMs, priorities.get(71), priorities.get(72)], [1, 5001, 0, LOWEST]);
  assert.deepEqual(threads.takeLost(), [{ owner: 'cart/d2', organization: null, reason: 'endless' }]);
});

test('an engine is replaced for the CPU of all its lost threads together, and the worst organization is blamed', (t) => {
  const { threads } = create();
  t.after(() => threads.close());
  const three = ['a/d1', 'b/d2', 'c/d3'].map((owner, at) => new Thread(owner, 71 + at, { organization: 'org1' }));
  const other = new Thread('z/d9', 79, { organization: 'org2' });
  for (const { given } of [...three, other]) threads.watch(given, 'endless');
  other.used(3000);
  for (const [at, thread] of three.entries()) thread.used(2000 + at);
  threads.look();
  assert.equal(threads.replacement, null);
  three[1]!.used(3000);
  threads.look();
  assert.deepEqual(threads.replacement, {
    reason: 'code that could not be ended burned 10.0 s of CPU in threads that are lost',
    blamed: { owner: 'b/d2', organization: 'org1', threads: 1, burntMs: 3000 },
  });
});

test('threads that sleep for good count by their number, and each is reported', (t) => {
  const { threads, priorities } = create();
  t.after(() => threads.close());
  for (let at = 0; at < 8; at++) {
    assert.equal(threads.replacement, null);
    threads.watch(new Thread('hog/d1', 71 + at).given, 'heap');
  }
  // One whose heap overflowed outside of every entry never comes back either.
  const outside = new Thread('hog/d1', 0);
  threads.watch(outside.given, 'heap');
  threads.look();
  assert.equal(threads.replacement?.reason, '9 threads are lost, which burned 0.0 s of CPU');
  assert.deepEqual([threads.takeLost().length, priorities.all.size], [9, 0]);
});

test('an isolate whose heap overflows after it was given up is lost then', (t) => {
  const { threads } = create();
  t.after(() => threads.close());
  const thread = new Thread('hog/d1', 71);
  threads.watch(thread.given, null);
  thread.shown[shownWords.overflowed] = 1;
  threads.look();
  threads.look();
  assert.deepEqual(threads.takeLost(), [{ owner: 'hog/d1', organization: null, reason: 'heap' }]);
});

test('a thread that comes back and stays behind the others is a reason to replace its engine', (t) => {
  const { threads, priorities } = create();
  t.after(() => threads.close());
  const thread = new Thread('shop/d1', 71);
  threads.watch(thread.given, 'endless');
  thread.end();
  priorities.refusal = 'EACCES';
  for (let looks = 0; looks < 9; looks++) threads.look();
  const early = threads.replacement;
  threads.look();
  assert.deepEqual(
    [early, threads.replacement?.reason],
    [null, 'a lost thread returned, and runs at the lowest priority'],
  );
  assert.equal(threads.isEmpty, true);
});

test('one that is gone when it would get its priority back is no such reason', (t) => {
  const { threads, priorities } = create();
  t.after(() => threads.close());
  const thread = new Thread('shop/d1', 71);
  threads.watch(thread.given, 'endless');
  thread.end();
  priorities.refusal = 'ESRCH';
  threads.look();
  assert.deepEqual([threads.isEmpty, threads.replacement], [true, null]);
});
