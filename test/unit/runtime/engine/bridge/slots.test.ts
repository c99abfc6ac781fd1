import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Slots } from '#runtime/engine/bridge/slots.ts';

test('a value is found under its number until it is removed', () => {
  const slots = new Slots<{ name: string }>();
  const a = slots.add({ name: 'a' });
  const b = slots.add({ name: 'b' });
  assert.equal(slots.get(a)?.name, 'a');
  assert.equal(slots.remove(a)?.name, 'a');
  assert.equal(slots.get(a), undefined);
  assert.equal(slots.remove(a), undefined);
  assert.equal(slots.get(b)?.name, 'b');
  assert.equal(slots.size, 1);
});

test('a slot that is used again has another number, so that a stale one finds nothing', () => {
  const slots = new Slots<{ name: string }>();
  const first = slots.add({ name: 'first' });
  slots.remove(first);
  const second = slots.add({ name: 'second' });
  assert.notEqual(first, second);
  assert.equal(slots.get(first), undefined);
  assert.equal(slots.get(second)?.name, 'second');
});

test('what stays while thousands come and go keeps its number, and nobody else gets it', () => {
  const slots = new Slots<{ name: string }>();
  const kept = Array.from({ length: 100 }, (_, i) => ({ name: `kept ${i}`, id: 0 }));
  for (const value of kept) {
    value.id = slots.add(value);
    for (let i = 0; i < 50; i++) slots.remove(slots.add({ name: 'passing' }));
  }
  const seen = new Set(kept.map(({ id }) => id));
  for (let i = 0; i < 5000; i++) {
    const id = slots.add({ name: 'passing' });
    assert.ok(!seen.has(id) && id < 2 ** 31);
    slots.remove(id);
  }
  for (const value of kept) assert.equal(slots.get(value.id), value);
  assert.equal(slots.size, 100);
  assert.deepEqual(new Set(slots.values()), new Set(kept));
});

test('two tables with different beginnings never give the same number', () => {
  const low = new Slots<object>();
  const high = new Slots<object>(2 ** 45);
  const numbers = new Set<number>();
  for (let round = 0; round < 1000; round++) {
    for (const slots of [low, high]) {
      const id = slots.add({});
      assert.ok(Number.isSafeInteger(id) && id > 0);
      assert.ok(!numbers.has(id));
      numbers.add(id);
      slots.remove(id);
    }
  }
});

test('numbers that nobody gave find nothing', () => {
  const slots = new Slots<object>();
  slots.add({});
  for (const id of [0, -1, 1.5, Number.NaN, 2 ** 60, Infinity]) assert.equal(slots.get(id), undefined);
});
