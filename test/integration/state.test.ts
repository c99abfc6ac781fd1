// The state binding from inside a worker.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noStores } from '#test/setup/no-stores.ts';
import { openStateSqlite } from '#runtime/stores/state-sqlite.ts';
import { onlyInIsolates, startHandler, type TestHandler } from '#test/setup/handler.ts';

const worker = `
export default {
  async fetch(request, { KV, OTHER }) {
    const run = new Function('KV', 'OTHER', 'show', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(KV, OTHER, (value) => value)) ?? null); }
    catch (error) { return Response.json({ error: error.name + ': ' + error.message, code: error.code }); }
  },
};`;
const yaml = 'state:\n  KV: carts\n  OTHER: others\n';

/** 10,000 calls may be under way there. */
const inIsolates = onlyInIsolates('the mock server has 1,000 requests of a deployment at a time');
let handler: TestHandler;
const state = openStateSqlite(':memory:');

before(async () => {
  handler = await startHandler(
    { shop: { files: worker, yaml }, rival: { files: worker, yaml } },
    {},
    { stores: { ...noStores, state } },
  );
});
after(async () => {
  await handler.close();
  state.close();
});

async function run(code: string, project = 'shop'): Promise<unknown> {
  return (await handler.fetch(project, '/', { method: 'POST', body: code })).json();
}

test('get reads a value in each form, and many keys at once', async () => {
  assert.deepEqual(
    await run(`
      await KV.put('a', '{"x":"ü"}');
      await KV.put('b', new Uint8Array([104, 105]).buffer);
      await KV.put('c', new Blob(['stream', 'ed']).stream());
      return [
        await KV.get('a'), await KV.get('a', 'json'), await KV.get('b', { type: 'text' }), [...new Uint8Array(await KV.get('b', 'arrayBuffer'))],
        await new Response(await KV.get('c', 'stream')).text(), await KV.get('none'), [...await KV.get(['a', 'none'], 'json')],
      ];`),
    [
      '{"x":"ü"}',
      { x: 'ü' },
      'hi',
      [104, 105],
      'streamed',
      null,
      [
        ['a', { x: 'ü' }],
        ['none', null],
      ],
    ],
  );
});

test('metadata and lives come back with the value and in lists', async () => {
  const result = (await run(`
    const expiration = Math.floor(Date.now() / 1000) + 1000;
    await KV.put('list/1', 'one', { metadata: { n: 1 }, expiration });
    await KV.put('list/2', 'two', { expirationTtl: 500 });
    await KV.put('list/3', 'three');
    const { version, ...entry } = await KV.getWithMetadata('list/1');
    const first = await KV.list({ prefix: 'list/', limit: 2 });
    const second = await KV.list({ prefix: 'list/', limit: 2, cursor: first.cursor });
    return { entry, first: first.keys.map(({ name, metadata, expiration }) => [name, metadata ?? null, typeof expiration]), complete: [first.list_complete, second.list_complete], second, exact: first.keys[0].expiration === expiration };`)) as object;
  assert.deepEqual(result, {
    entry: { value: 'one', metadata: { n: 1 }, cacheStatus: null },
    first: [
      ['list/1', { n: 1 }, 'number'],
      ['list/2', null, 'number'],
    ],
    complete: [false, true],
    second: { keys: [{ name: 'list/3' }], list_complete: true, cacheStatus: null },
    exact: true,
  });
});

test('update changes a JSON value, makes what is not there, and answers the new value', async () => {
  assert.deepEqual(
    await run(`
      const made = await KV.update('doc', { $inc: { visits: 1 }, $push: { names: 'ada' } });
      await KV.setJSON('doc2', { a: [1, 2] });
      return [made, await KV.update('doc2', { $pop: { a: 1 } }), await KV.getJSON('doc2')];`),
    [{ visits: 1, names: ['ada'] }, { a: [1] }, { a: [1] }],
  );
});

test('update changes a large value as well, with its metadata, and several at once all count', async () => {
  assert.deepEqual(
    await run(`const text = 'x'.repeat(100_000);
      await KV.put('large', JSON.stringify({ text, n: 0 }), { metadata: { kept: true } });
      await Promise.all([1, 2, 3, 4].map((by) => KV.update('large', { $inc: { n: by } })));
      const { value, metadata } = await KV.getWithMetadata('large', 'json');
      return [value.text === text, value.n, metadata, (await KV.update('large', { $unset: { text: 1 } }))];`),
    [true, 10, { kept: true }, { n: 10 }],
  );
});

test('a thousand increments of two requests at once end at a thousand', async () => {
  const half = 'await Promise.all(Array.from({ length: 500 }, () => KV.update("count", { $inc: { n: 1 } })));';
  assert.deepEqual(await Promise.all([run(half), run(half)]), [null, null]);
  assert.equal(await run("return (await KV.getJSON('count')).n;"), 1000);
});

test('compareAndSet writes only over the version that was read', async () => {
  assert.deepEqual(
    await run(`
      const made = [await KV.compareAndSet('cas', null, '1'), await KV.compareAndSet('cas', null, '2')];
      const { version } = await KV.getWithMetadata('cas');
      return [...made, await KV.compareAndSet('cas', version, '3'), await KV.compareAndSet('cas', version, '4'), await KV.get('cas')];`),
    [true, false, true, false, '3'],
  );
});

test('bindings and projects see nothing of each other', async () => {
  await run(`await KV.put('secret', 'mine');`);
  assert.deepEqual(await run(`return [await OTHER.get('secret'), await KV.get('secret')];`), [null, 'mine']);
  assert.equal(await run(`return KV.get('secret');`, 'rival'), null);
});

test('arguments that cannot be are refused by name', async () => {
  const cases: [string, string][] = [
    [`await KV.put('', 'a')`, 'TypeError: The key must not be empty'],
    [`await KV.put('a\\0b', 'a')`, 'TypeError: The key must not contain NUL'],
    [`await KV.get('\\ud800')`, 'TypeError: The key must be well-formed Unicode'],
    [`await KV.get('k'.repeat(513))`, 'TypeError: The key has 513 bytes, and may have 512'],
    [`await KV.get(5)`, 'TypeError: The key must be a string'],
    [`await KV.get([])`, 'TypeError: get takes 1 to 100 keys'],
    [`await KV.put('a', 5)`, 'TypeError: A value must be a string, an ArrayBuffer, a view of one, or a ReadableStream'],
    [`await KV.put('a', 'b', { expiration: 5 })`, 'TypeError: expiration is in the past'],
    [
      `await KV.put('a', 'b', { expiration: 9e9, expirationTtl: 60 })`,
      'TypeError: expiration and expirationTtl exclude each other',
    ],
    [
      `await KV.put('a', 'b', { metadata: 'm'.repeat(1023) })`,
      'TypeError: The metadata has 1025 bytes as JSON, and may have 1024',
    ],
    [`await KV.list({ limit: 1001 })`, 'TypeError: limit must be a whole number from 1 to 1000'],
    [`await KV.list({ cursor: '!' })`, 'TypeError: The cursor is not valid'],
    // It would be a key with a NUL.
    [`await KV.list({ cursor: 'YQBi' })`, 'TypeError: The cursor is not valid'],
    // `nonsense`, which a base64url is too.
    [`await KV.list({ cursor: 'nonsense' })`, 'TypeError: The cursor is not valid'],
    [
      `await KV.put('text', 'no json'); await KV.update('text', { $set: { a: 1 } })`,
      'TypeError: The value is not JSON, so it cannot be updated',
    ],
    [`await KV.get('a', 'xml')`, 'TypeError: The type of a value is one of text, json, arrayBuffer, stream, not xml'],
  ];
  for (const [code, error] of cases) {
    const result = (await run(code)) as { error: string } | null;
    assert.equal(result?.error, error, code);
  }
});

test('strange keys are keys like any other', async () => {
  assert.deepEqual(
    await run(`
      for (const key of ['../../etc/passwd', '__proto__', 'constructor', '%', "'; DROP TABLE state; --"]) await OTHER.put(key, key);
      return (await OTHER.list()).keys.map(({ name }) => name);`),
    ['%', "'; DROP TABLE state; --", '../../etc/passwd', '__proto__', 'constructor'],
  );
});

test('a call that cannot be written down costs none of the calls that may be under way', inIsolates, async () => {
  assert.deepEqual(
    await run(`
      await KV.put('kept', 'here');
      const refused = [];
      for (let at = 0; at < 10_001; at++) refused.push(KV.put('big', 'x', { metadata: { id: 1n } }).catch((error) => error.name));
      const names = new Set(await Promise.all(refused));
      return [[...names], await KV.get('kept')];`),
    [['TypeError'], 'here'],
  );
});

test('a call that is made while another is written down has an answer of its own', async () => {
  assert.deepEqual(
    await run(`
      await KV.put('inner', 'of the inner');
      let inner;
      const metadata = { toJSON() { inner = KV.get('inner'); return { of: 'the outer' }; } };
      await KV.put('outer', 'value', { metadata });
      return [await inner, (await KV.getWithMetadata('outer')).metadata];`),
    ['of the inner', { of: 'the outer' }],
  );
});
