import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InFlight } from '#core/in-flight.ts';

test('a value is found under its number until it is removed', () => {
  const table = new InFlight<{ name: string }>();
  const a = table.add({ name: 'a' });
  const b = table.add({ name: 'b' });
  assert.equal(table.get(a)?.name, 'a');
  assert.equal(table.remove(a)?.name, 'a');
  assert.equal(table.get(a), undefined);
  assert.equal(table.remove(a), undefined);
  assert.equal(table.get(b)?.name, 'b');
  assert.equal(table.size, 1);
});

test('a slot that is used again has another number, so that a stale one finds nothing', () => {
  const table = new InFlight<{ name: string }>();
  const first = table.add({ name: 'first' });
  table.remove(first);
  const second = table.add({ name: 'second' });
  assert.notEqual(first, second);
  assert.equal(table.get(first), undefined);
  assert.equal(table.get(second)?.name, 'second');
});

test('what stays while thousands come and go keeps its number, and nobody else gets it', () => {
  const table = new InFlight<{ name: string }>();
  const kept = Array.from({ length: 100 }, (_, i) => ({ name: `kept ${i}`, id: 0 }));
  for (const value of kept) {
    value.id = table.add(value);
    for (let i = 0; i < 50; i++) table.remove(table.add({ name: 'passing' }));
  }
  const seen = new Set(kept.map(({ id }) => id));
  for (let i = 0; i < 5000; i++) {
    const id = table.add({ name: 'passing' });
    assert.ok(!seen.has(id) && id < 2 ** 31);
    table.remove(id);
  }
  for (const value of kept) assert.equal(table.get(value.id), value);
  assert.equal(table.size, 100);
  assert.deepEqual(new Set(table.values()), new Set(kept));
});

test('two tables with different beginnings never give the same number', () => {
  const low = new InFlight<object>();
  const high = new InFlight<object>(2 ** 45);
  const numbers = new Set<number>();
  for (let round = 0; round < 1000; round++) {
    for (const table of [low, high]) {
      const id = table.add({});
      assert.ok(Number.isSafeInteger(id) && id > 0);
      assert.ok(!numbers.has(id));
      numbers.add(id);
      table.remove(id);
    }
  }
});

test('numbers that nobody gave find nothing', () => {
  const table = new InFlight<object>();
  table.add({});
  for (const id of [0, -1, 1.5, Number.NaN, 2 ** 60, Infinity]) assert.equal(table.get(id), undefined);
});

test('a table takes the numbers of another one, as many as are in flight there', () => {
  const ours = new InFlight<{ id: number }>();
  const theirs = new InFlight<{ id: number }>();
  for (let i = 0; i < 1000; i++) {
    const value = { id: 0 };
    value.id = ours.add(value);
    theirs.put(value.id, value);
    if (i % 3 > 0) for (const table of [ours, theirs]) assert.equal(table.remove(value.id), value);
  }
  assert.equal(theirs.size, 334);
  for (const value of ours.values()) assert.equal(theirs.get(value.id), value);
});

test('a number that is taken, or none, is refused', () => {
  const table = new InFlight<object>();
  table.put(7, {});
  assert.throws(() => table.put(7, {}), { message: 'number 7 is taken' });
  for (const none of [0, -1, Number.NaN])
    assert.throws(() => table.put(none, {}), { message: `number ${none} is out of range` });
  // No table of a sensible size has a slot for each.
  assert.throws(() => table.put(7 + 2 ** 21, {}), { message: `number ${7 + 2 ** 21} is taken` });
});
