// Values on their way into a store and back: what comes out equals what structuredClone gives, and what JSON holds
// stays plain JSON. FUZZ_SEED repeats a run, FUZZ_RUNS lengthens it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import '#runtime/engine/guest/lazy/messages.ts';
import { fromStored, toStored } from '#runtime/engine/guest/lazy/stored-values.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

connectGuestHost();

const through = (value: unknown): unknown => fromStored(JSON.parse(JSON.stringify(toStored(value))));

const samples: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  'a bigint': () => 2n ** 80n,
  'NaN, infinities and -0': () => [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
  'a Date': () => new Date(86_400_000),
  'an invalid Date': () => new Date(Number.NaN),
  'a RegExp': () => /a\/b/giu,
  'a Map of objects': () =>
    new Map<unknown, unknown>([
      [{ a: 1 }, new Set([1, 'b'])],
      ['k', null],
    ]),
  'an ArrayBuffer': () => new Uint8Array([0, 127, 255]).buffer,
  'a typed array over a part of a buffer': () => new Uint16Array(new Uint8Array(12).fill(7).buffer, 2, 3),
  'a DataView': () => new DataView(new Uint8Array([1, 2, 3]).buffer, 1),
  'a BigInt64Array': () => new BigInt64Array([1n, -1n]),
  'an error with a cause': () => new RangeError('far', { cause: new Error('near') }),
  'boxed values': () => [Object(true), Object(1), Object('a'), Object(1n)],
  'holes and properties of an array': () => Object.assign([], { 0: 1, 2: 3, extra: true }),
  'a property that is undefined': () => ({ a: undefined }),
  'a key that names the form': () => ({ $structured: 1, records: [] }),
  'a key __proto__': () => JSON.parse('{"__proto__": {"a": 1}}') as unknown,
  'an object whose toJSON would change it': () => ({ at: new Date(0), list: [1] }),
};

for (const [what, make] of Object.entries(samples))
  test(`${what} comes back as structuredClone copies it`, () => {
    assert.deepEqual(through(make()), structuredClone(make()));
    assert.deepEqual(through({ inside: [make()] }), structuredClone({ inside: [make()] }));
  });

test('circles and two ways to one object are kept', () => {
  const shared = { n: 1 };
  const value: Record<string, unknown> = { a: shared, b: shared };
  value['self'] = value;
  const copy = through(value) as Record<string, unknown>;
  assert.equal(copy['self'], copy);
  assert.equal(copy['a'], copy['b']);
});

test('what JSON can hold is stored as it is', () => {
  for (const value of [null, 'a', 1.5, true, [], {}, { a: [1, { b: 'c' }], d: null }])
    assert.equal(toStored(value), value);
});

test('functions, symbols and objects with a state of their own are refused', () => {
  for (const value of [() => {}, Symbol('s'), { method() {} }, new WeakMap(), Promise.resolve()])
    assert.throws(() => toStored(value), { name: 'DataCloneError' });
});

test('a form of a newer version is refused by its number', () => {
  assert.throws(() => fromStored({ $structured: 2, records: [] }), {
    message: 'A stored value has form 2; this version reads form 1',
  });
});

test('any nesting of cloneable values comes back', (t) => {
  const random = createSeededRandom();
  t.diagnostic(`FUZZ_SEED=${random.seed}`);
  const kinds = Object.values(samples);
  const make = (depth: number): unknown => {
    if (depth === 0 || random.below(3) === 0) return random.pick(kinds)();
    const items = Array.from({ length: random.below(4) }, () => make(depth - 1));
    return random.pick<() => unknown>([
      () => items,
      () => new Set(items),
      () => new Map(items.map((item, at) => [at % 2 === 0 ? item : `k${at}`, item])),
      () => Object.fromEntries(items.map((item, at) => [`k${at}`, item])),
    ])();
  };
  for (let round = 0; round < Number(process.env['FUZZ_RUNS'] ?? 300); round++) {
    const value = make(4);
    assert.deepEqual(through(value), structuredClone(value), `FUZZ_SEED=${random.seed}`);
  }
});
