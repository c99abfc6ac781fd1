import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBatcher } from '#runtime/stores/batcher.ts';

/** Flushes that end when the test says so. */
function flushes(): {
  readonly made: (readonly number[])[];
  flush(items: readonly number[]): Promise<void>;
  end(): void;
} {
  const ends: (() => void)[] = [];
  const made: (readonly number[])[] = [];
  return {
    made,
    flush: (items) => new Promise((resolve) => void (made.push(items), ends.push(resolve))),
    end: () => ends.shift()?.(),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what one turn asks for is one flush, what comes meanwhile the next', async () => {
  const { made, flush, end } = flushes();
  const batcher = createBatcher<number>({ flush, itemsMax: 3, flushesMax: 1, waitMs: 60_000 });
  batcher.add(1);
  batcher.add(2);
  await turn();
  for (const item of [3, 4, 5, 6]) batcher.add(item);
  await turn();
  assert.deepEqual(made, [[1, 2]]);
  end();
  await turn();
  assert.deepEqual(made, [
    [1, 2],
    [3, 4, 5],
  ]);
  end();
  await turn();
  assert.deepEqual(made.at(-1), [6]);
});

test('one that is alone waits for nothing', async () => {
  const { made, flush } = flushes();
  createBatcher<number>({ flush, itemsMax: 10, flushesMax: 1, waitMs: 60_000 }).add(1);
  await Promise.resolve();
  assert.deepEqual(made, [[1]]);
});

test('a flush takes no more than its size, or one item', async () => {
  const { made, flush, end } = flushes();
  const batcher = createBatcher<number>({
    flush,
    itemsMax: 10,
    flushesMax: 1,
    waitMs: 60_000,
    sizeOf: (item) => item,
    sizeMax: 10,
  });
  for (const item of [50, 4, 6, 1]) batcher.add(item);
  for (let count = 0; count < 3; count++) {
    await turn();
    end();
  }
  assert.deepEqual(made, [[50], [4, 6], [1]]);
});

test('a flush that does not end holds up the others only briefly', async () => {
  const { made, flush, end } = flushes();
  const batcher = createBatcher<number>({ flush, itemsMax: 10, flushesMax: 3, waitMs: 1 });
  for (const item of [1, 2, 3, 4]) {
    batcher.add(item);
    if (item < 4) while (made.length < item) await turn();
  }
  await turn();
  assert.deepEqual(made, [[1], [2], [3]]);
  for (let count = 0; count < 4; count++) {
    end();
    await turn();
  }
});

test('items with one key are never in two flushes at a time, and none overtakes another', async () => {
  const { made, flush, end } = flushes();
  const batcher = createBatcher<number>({
    flush,
    itemsMax: 2,
    flushesMax: 3,
    waitMs: 1,
    keyOf: (item) => String(item % 10),
  });
  for (const item of [1, 2, 11, 3, 21, 13]) batcher.add(item);
  while (made.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  end();
  await turn();
  assert.deepEqual(made, [
    [1, 2],
    [3, 13],
    [11, 21],
  ]);
});
