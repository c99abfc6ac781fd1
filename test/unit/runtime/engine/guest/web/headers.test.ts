import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  blockFromInit,
  Headers as GuestHeaders,
  headersFromBlock,
  headersToBlock,
} from '#runtime/engine/guest/web/headers.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const names = [
  'a',
  'A',
  'b',
  'Content-Type',
  'set-cookie',
  'Set-Cookie',
  'x-long-name',
  'X-Long-Name',
  'bad name',
  '',
  'c:d',
  '\u00e9',
];
const values = [
  '1',
  '2',
  ' padded \t',
  '',
  'two, values',
  '\u00ff',
  'caf\u00e9',
  'a\nb',
  'a\0b',
  '\u0100',
  'x\x01y',
  '\r\n folded',
];

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as Error).name;
  }
}

test('does what Node does for random sequences of calls', () => {
  const random = createSeededRandom();
  for (let round = 0; round < fuzzRounds(500); round++) {
    const ours = new GuestHeaders();
    const theirs = new Headers();
    const calls: string[] = [];
    for (let step = 0; step < 12; step++) {
      const method = random.pick(['append', 'append', 'set', 'delete', 'get', 'has', 'getSetCookie'] as const);
      const parameters = [random.pick(names), random.pick(values)] as const;
      calls.push(`${method}(${JSON.stringify(parameters)})`);
      const note = `seed ${random.seed}: ${calls.join('; ')}`;
      const call = (headers: Headers) =>
        attempt(() => (headers[method] as (...all: readonly string[]) => unknown)(...parameters));
      assert.deepEqual(call(ours as unknown as Headers), call(theirs), note);
      assert.deepEqual([...ours], [...theirs], note);
    }
  }
});

test('stays quick with a hundred thousand names', () => {
  const headers = new GuestHeaders();
  for (let index = 0; index < 100_000; index++) headers.set(`name-${index}`, 'value');
  for (let index = 0; index < 100_000; index++) headers.append(`name-${index}`, 'again');
  assert.equal(headers.get('name-99999'), 'value, again');
  assert.equal([...headers.keys()].length, 100_000);
});

test('reads and writes the block that crosses the bridge', () => {
  const headers = headersFromBlock('b\x002\0a\x001\0set-cookie\0x=1\0set-cookie\0y=2\0', 'none');
  assert.deepEqual(
    [...headers],
    [
      ['a', '1'],
      ['b', '2'],
      ['set-cookie', 'x=1'],
      ['set-cookie', 'y=2'],
    ],
  );
  headers.set('C', '3');
  assert.equal(headersToBlock(headers), 'b\x002\0a\x001\0set-cookie\0x=1\0set-cookie\0y=2\0c\x003\0');
  assert.equal(headersToBlock(headersFromBlock('', 'none')), '');
});

test('refuses changes to immutable headers', () => {
  const headers = headersFromBlock('a\x001\0', 'immutable');
  assert.throws(() => headers.set('a', '2'), { name: 'TypeError' });
  assert.throws(() => headers.append('b', '2'), { name: 'TypeError' });
  assert.throws(() => headers.delete('zzz'), { name: 'TypeError' });
  assert.equal(headers.get('A'), '1');
});

test('never lets a control character into a block, whatever way it came', () => {
  const headers = new GuestHeaders({ a: 'x\x02y' });
  assert.equal(headers.get('a'), 'x\x02y');
  assert.throws(() => headersToBlock(headers), { name: 'TypeError' });
  assert.throws(() => blockFromInit({ a: 'x\x01y' }, null), { name: 'TypeError' });
  assert.throws(() => blockFromInit([['a', 'x\x01y']], null), { name: 'TypeError' });
});

test('makes a block from a plain object without the values of an earlier one', () => {
  assert.equal(blockFromInit({ 'X-A': '1', 'x-a': ' 2 ' }, null), 'x-a\x001\0x-a\x002\0');
  assert.equal(blockFromInit({ 'X-A': '3' }, 'text/plain'), 'content-type\0text/plain\0x-a\x003\0');
  assert.equal(blockFromInit({ 'Content-Type': 'text/html' }, 'text/plain'), 'content-type\0text/html\0');
  assert.equal(blockFromInit({ 'X-Number': 5 }, null), 'x-number\x005\0');
  assert.throws(() => blockFromInit({ [Symbol('s')]: '1' }, null), { name: 'TypeError' });
});

test('iterates live over what changes under it', () => {
  const headers = new GuestHeaders({ a: '1', b: '2', c: '3' });
  const seen: string[] = [];
  for (const [name] of headers) {
    seen.push(name);
    if (name === 'a') headers.append('d', '4');
  }
  assert.deepEqual(seen, ['a', 'b', 'c', 'd']);
});

test('refuses initial values that are neither pairs nor records', () => {
  for (const init of [null, 1, 'text', [['a']], [['a', 'b', 'c']], [1], { [Symbol.iterator]: 1 }])
    assert.throws(() => new GuestHeaders(init), { name: 'TypeError' });
  assert.deepEqual([...new GuestHeaders(new Map([['a', '1']]))], [['a', '1']]);
});

/** An object that notes every trap that fires, in order. */
function noting(target: object): { proxy: object; traps: string[] } {
  const traps: string[] = [];
  const handler = Object.fromEntries(
    Object.getOwnPropertyNames(Reflect).map((trap) => [
      trap,
      (...given: unknown[]) => {
        traps.push(typeof given[1] === 'string' || typeof given[1] === 'symbol' ? `${trap} ${String(given[1])}` : trap);
        return (Reflect as unknown as Record<string, (...given: unknown[]) => unknown>)[trap]!(...given);
      },
    ]),
  );
  return { proxy: new Proxy(target, handler), traps };
}

test('asks a record as WebIDL says: whether it can be iterated, its keys once, of each the descriptor and the value', () => {
  const steps = (...names: string[]): string[] => ['get Symbol(Symbol.iterator)', 'ownKeys', ...names];
  const of = (...keys: string[]): string[] => keys.flatMap((key) => [`getOwnPropertyDescriptor ${key}`, `get ${key}`]);
  const hidden = Object.defineProperty({ a: '1', b: '2' }, 'a', { enumerable: false });
  const cases: [target: object, traps: string[], fails: boolean][] = [
    [{ a: '1', c: '2', b: '3' }, steps(...of('a', 'c', 'b')), false],
    [hidden, steps('getOwnPropertyDescriptor a', ...of('b')), false],
    [{ a: '1', '\uffff': '2', b: '3' }, steps(...of('a'), 'getOwnPropertyDescriptor \uffff'), true],
    [{ a: '\uffff', b: '3' }, steps(...of('a')), true],
    [{ a: '1', [Symbol('s')]: '2' }, steps(...of('a'), 'getOwnPropertyDescriptor Symbol(s)'), true],
    [{ 'not legal': '1', b: '2' }, steps(...of('not legal', 'b')), true],
  ];
  for (const [target, expected, fails] of cases) {
    const { proxy, traps } = noting(target);
    if (fails) assert.throws(() => new GuestHeaders(proxy), { name: 'TypeError' });
    else assert.ok(new GuestHeaders(proxy));
    assert.deepEqual(traps, expected);
  }
  const { proxy, traps } = noting({ a: '1', b: '2' });
  assert.equal(blockFromInit(proxy, null), 'a\x001\0b\x002\0');
  assert.deepEqual(traps, steps(...of('a', 'b')));
});

test('reads pairs from whatever can be iterated, all of them before the first is judged', () => {
  const counted: string[] = [];
  function* pairs(): Generator<unknown> {
    for (const pair of [
      new Set(['a', '1']),
      ['b', 2],
      Object.assign(() => {}, { [Symbol.iterator]: () => ['c', undefined].values() }),
    ]) {
      counted.push('pair');
      yield pair;
    }
  }
  assert.deepEqual(
    [...new GuestHeaders(pairs())],
    [
      ['a', '1'],
      ['b', '2'],
      ['c', 'undefined'],
    ],
  );
  assert.equal(blockFromInit(pairs(), 'text/plain'), 'a\x001\0b\x002\0c\0undefined\0content-type\0text/plain\0');
  let asked = 0;
  const once = {
    get [Symbol.iterator]() {
      asked++;
      return () => [['a', '1']].values();
    },
  };
  assert.deepEqual([...new GuestHeaders(once)], [['a', '1']]);
  assert.equal(blockFromInit(once, null), 'a\x001\0');
  assert.equal(asked, 2);
  counted.length = 0;
  assert.throws(() => new GuestHeaders([['not legal', 'x'], ...pairs(), ['one']]), {
    name: 'TypeError',
    message: /not legal/,
  });
  assert.equal(counted.length, 3);
  for (const iterator of [() => 1, () => ({ next: () => 1 }), 'text'])
    assert.throws(() => new GuestHeaders({ [Symbol.iterator]: iterator }), { name: 'TypeError' });
  assert.throws(() => new GuestHeaders(['ab']), { name: 'TypeError' });
});
