import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFlights } from '#runtime/stores/flights.ts';

/** Trips that end when the test says so. */
function trips(): { readonly made: (readonly number[])[]; fly(items: readonly number[]): Promise<void>; end(): void } {
  const ends: (() => void)[] = [];
  const made: (readonly number[])[] = [];
  return {
    made,
    fly: (items) => new Promise((resolve) => void (made.push(items), ends.push(resolve))),
    end: () => ends.shift()?.(),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what one turn asks for goes together, what comes meanwhile with the next trip', async () => {
  const { made, fly, end } = trips();
  const flights = createFlights<number>({ fly, togetherMax: 3, flightsMax: 1, patienceMs: 60_000 });
  flights.add(1);
  flights.add(2);
  await turn();
  for (const item of [3, 4, 5, 6]) flights.add(item);
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
  const { made, fly } = trips();
  createFlights<number>({ fly, togetherMax: 10, flightsMax: 1, patienceMs: 60_000 }).add(1);
  await Promise.resolve();
  assert.deepEqual(made, [[1]]);
});

test('a trip carries no more than its size, or one item', async () => {
  const { made, fly, end } = trips();
  const flights = createFlights<number>({
    fly,
    togetherMax: 10,
    flightsMax: 1,
    patienceMs: 60_000,
    sizeOf: (item) => item,
    sizeMax: 10,
  });
  for (const item of [50, 4, 6, 1]) flights.add(item);
  for (let trip = 0; trip < 3; trip++) {
    await turn();
    end();
  }
  assert.deepEqual(made, [[50], [4, 6], [1]]);
});

test('a trip that does not end holds up nobody for long', async () => {
  const { made, fly, end } = trips();
  const flights = createFlights<number>({ fly, togetherMax: 10, flightsMax: 3, patienceMs: 1 });
  for (const item of [1, 2, 3, 4]) {
    flights.add(item);
    if (item < 4) while (made.length < item) await turn();
  }
  await turn();
  assert.deepEqual(made, [[1], [2], [3]]);
  for (let trip = 0; trip < 4; trip++) {
    end();
    await turn();
  }
});

test('words on one thing are never on two trips at a time, and none overtakes another', async () => {
  const { made, fly, end } = trips();
  const flights = createFlights<number>({
    fly,
    togetherMax: 2,
    flightsMax: 3,
    patienceMs: 1,
    keyOf: (item) => String(item % 10),
  });
  for (const item of [1, 2, 11, 3, 21, 13]) flights.add(item);
  while (made.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  end();
  await turn();
  assert.deepEqual(made, [
    [1, 2],
    [3, 13],
    [11, 21],
  ]);
});
