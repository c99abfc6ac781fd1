// When an entry that does not end is abandoned. Checks come as fast as they can here: what counts is the CPU of the
// entry's thread, which each test writes, and whether that sleeps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECK_MS, StuckEntry, shownWords } from '#runtime/engine/isolates/stuck-entry.ts';

const ATOMICS_WAIT_MS = 5000;
const THREAD = 77;
const LONG_MS = 600_000;

type Words = Partial<Record<'thread' | 'usedMs' | 'overdueMs', number>>;

/** After how long an entry with these words is stuck; null: not within ten minutes. */
function stuckAfterMs(
  words: (ms: number) => Words,
  { isAsleep = false as boolean | null, awaitsHost = false } = {},
): number | null {
  const asked: number[] = [];
  const stuck = new StuckEntry(ATOMICS_WAIT_MS, (thread) => {
    asked.push(thread);
    return isAsleep;
  });
  for (let ms = CHECK_MS; ms <= LONG_MS; ms += CHECK_MS) {
    for (const [name, value] of Object.entries({ thread: THREAD, ...words(ms) }))
      stuck.shown[shownWords[name as 'thread']] = value;
    if (stuck.check(awaitsHost)) return ms;
    if (ms < 5000) assert.deepEqual(asked, [], 'the system is not asked of an entry that has only begun');
  }
  assert.ok(asked.every((thread) => thread === THREAD));
  return null;
}

test('an entry that gets no CPU is left alone, however long that takes', () => {
  assert.equal(
    stuckAfterMs(() => ({ usedMs: 0 })),
    null,
  );
});

test('an entry that gets little CPU is left alone as long as it was not told to end', () => {
  assert.equal(
    stuckAfterMs((ms) => ({ usedMs: ms / 100 })),
    null,
  );
});

test('an entry that was told to end has five seconds of CPU for it, not of time', () => {
  const overdue = (share: number): number | null =>
    stuckAfterMs((ms) => ({ usedMs: ms * share, overdueMs: Math.max(0, ms - 1000) * share }));
  assert.equal(overdue(1), 6500);
  assert.equal(overdue(0.1), 51_500);
});

test('a thread that sleeps is abandoned after fifteen seconds and what Atomics.wait may take', () => {
  const asleepMs = 5000 - 500 + 15_000 + ATOMICS_WAIT_MS + 500;
  assert.equal(
    stuckAfterMs(() => ({ usedMs: 3 }), { isAsleep: true }),
    asleepMs,
  );
  // One that wakes now and then for a moment sleeps as well.
  assert.equal(
    stuckAfterMs((ms) => ({ usedMs: ms / 20 }), { isAsleep: true }),
    asleepMs + 500,
  );
  assert.equal(
    stuckAfterMs((ms) => ({ usedMs: ms / 10 }), { isAsleep: true }),
    null,
  );
});

test('a thread that sleeps until the host has answered is waited for', () => {
  assert.equal(
    stuckAfterMs(() => ({ usedMs: 3 }), { isAsleep: true, awaitsHost: true }),
    null,
  );
});

test('where the system says nothing of threads, one without any CPU counts as asleep', () => {
  for (const isAsleep of [null, false])
    assert.ok(stuckAfterMs(() => ({ thread: -1, usedMs: 3 }), { isAsleep }) !== null);
  assert.ok(stuckAfterMs(() => ({ usedMs: 3 }), { isAsleep: null }) !== null);
  assert.equal(
    stuckAfterMs((ms) => ({ thread: -1, usedMs: ms / 100 })),
    null,
  );
});

test('an entry that never begins is abandoned too, whatever an earlier one has left behind', () => {
  assert.ok(stuckAfterMs(() => ({ thread: 0, usedMs: 3, overdueMs: 9000 }))! > 20_000);
});

test('the next entry begins with nothing', () => {
  const stuck = new StuckEntry(ATOMICS_WAIT_MS, () => true);
  stuck.shown[shownWords.thread] = THREAD;
  for (let entry = 0; entry < 10; entry++) {
    for (let ms = 0; ms < 20_000; ms += CHECK_MS) assert.equal(stuck.check(false), false);
    stuck.reset();
  }
});
