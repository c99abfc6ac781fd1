import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unlimitedStorage } from '#core/storage-left.ts';
import { ProjectLimit } from '#runtime/stores/project-limits.ts';

/** Limits of 100 bytes over what a test says is kept, and by a clock that it sets. */
function limit(): {
  limit: ProjectLimit;
  kept: { bytes: number; counts: number; fails: boolean };
  clock: { now: number };
} {
  const kept = { bytes: 0, counts: 0, fails: false };
  const clock = { now: 0 };
  const count = async (): Promise<number> => {
    kept.counts++;
    if (kept.fails) throw new Error('away');
    return kept.bytes;
  };
  return { limit: new ProjectLimit('It', 100, count, unlimitedStorage, () => clock.now), kept, clock };
}

const refused = { code: 'quota_exceeded', message: 'It would exceed 100 bytes' };
const counted = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a write below the bound waits for no count', async () => {
  const { limit: it, kept } = limit();
  assert.equal(it.admit('a', 60), undefined);
  assert.equal(kept.counts, 1);
  await counted();
  assert.equal(it.admit('a', 40), undefined);
  assert.equal(kept.counts, 1);
});

test('one that reaches it is refused after a new count only, which is taken every two seconds at most', async () => {
  const { limit: it, kept, clock } = limit();
  kept.bytes = 90;
  void it.admit('a', 1);
  await counted();
  await assert.rejects(async () => it.admit('a', 11), refused);
  assert.equal(it.admit('b', 11), undefined);
  kept.bytes = 10;
  await assert.rejects(async () => it.admit('a', 11), refused);
  clock.now = 2000;
  await it.admit('a', 11);
  assert.equal(kept.counts, 3);
});

test('what is written over the same key again and again is not refused', async () => {
  const { limit: it, kept, clock } = limit();
  kept.bytes = 30;
  for (let written = 0; written < 100; written++) {
    clock.now += 2000;
    await it.admit('a', 30);
  }
  assert.ok(kept.counts > 10);
});

test('what is written during a count is added to it', async () => {
  const { limit: it } = limit();
  void it.admit('a', 60);
  void it.admit('a', 30);
  await counted();
  assert.throws(() => it.add('a', 31), refused);
  it.add('a', -20);
  it.add('a', 30);
  assert.equal(it.estimate('a'), 100);
});

test('a count that fails refuses nothing by itself', async () => {
  const { limit: it, kept } = limit();
  kept.fails = true;
  void it.admit('a', 60);
  await counted();
  assert.equal(it.admit('a', 40), undefined);
});
