// What every store of state keeps to. Each store runs it from a test file of its own.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { StateStore } from '#runtime/engine/bindings/state.ts';

/** Registers the suite's tests over the store that `open` gives. */
export function stateStoreContract(open: () => Promise<{ store: StateStore; close(): Promise<void> }>): void {
  let store: StateStore;
  let close: () => Promise<void>;
  const at = { namespace: 'shop', resource: 'carts' };
  const plain = { metadata: null, expiresAt: null };
  const now = 1_000_000;
  before(async () => {
    ({ store, close } = await open());
  });
  after(() => close());

  test('a value comes back as it was put, text or bytes', async () => {
    await store.put(at, 'text', { value: 'grüße \u{1f600}', metadata: '{"a":1}', expiresAt: null }, now);
    await store.put(at, 'bytes', { value: new Uint8Array([0, 255, 1]), ...plain }, now);
    await store.put(at, 'empty', { value: '', ...plain }, now);
    const [text, none, bytes, empty] = await store.get(at, ['text', 'none', 'bytes', 'empty'], now);
    assert.equal(text?.value, 'grüße \u{1f600}');
    assert.equal(text?.metadata, '{"a":1}');
    assert.equal(none, null);
    assert.deepEqual(Buffer.from(bytes?.value ?? ''), Buffer.from([0, 255, 1]));
    assert.equal(empty?.value, '');
  });

  test('a namespace and a resource see nothing of another one', async () => {
    await store.put(at, 'mine', { value: 'a', ...plain }, now);
    for (const other of [
      { namespace: 'other', resource: 'carts' },
      { namespace: 'shop', resource: 'other' },
    ]) {
      assert.deepEqual(await store.get(other, ['mine'], now), [null]);
      assert.deepEqual(await store.list(other, { prefix: '', after: null, limit: 10 }, now), { keys: [], more: false });
      await store.delete(other, 'mine');
    }
    assert.equal((await store.get(at, ['mine'], now))[0]?.value, 'a');
  });

  test('several keys are read together as long as their values are not too large together', async () => {
    const place = { namespace: 'shop', resource: 'large' };
    const keys = ['a', 'b', 'c', 'd'];
    for (const key of keys) await store.put(place, key, { value: 'x'.repeat(8 * 1024 * 1024), ...plain }, now);
    assert.equal(
      (await store.get(place, keys.slice(0, 3), now)).filter((found) => found?.value.length === 8 * 1024 * 1024).length,
      3,
    );
    const refusal = {
      code: 'invalid_argument',
      message: 'The values of these keys have 33554432 bytes together, and one get may read 26214400',
    };
    for (const wanted of [keys, ['a', 'a', 'a', 'a']])
      await assert.rejects(async () => store.get(place, wanted, now), refusal);
  });

  test('of writes that come together, the last word on each key counts', async () => {
    const place = { namespace: 'shop', resource: 'together' };
    const keys = Array.from({ length: 50 }, (_, n) => `k${n}`);
    await Promise.all([
      ...keys.map((key) => store.put(place, key, { value: 'first', metadata: '{"n":1}', expiresAt: now + 1000 }, now)),
      ...keys.map((key, n) =>
        store.put(place, key, { value: n % 2 === 0 ? `v${n}` : new Uint8Array([n]), ...plain }, now),
      ),
      ...keys.slice(0, 10).map((key) => store.delete(place, key)),
      store.put(place, 'k3', { value: 'again', ...plain }, now),
    ]);
    const found = await Promise.all(keys.map(async (key) => (await store.get(place, [key], now + 1000))[0]));
    const expected = keys.map((_, n) =>
      n === 3 ? 'again' : n < 10 ? undefined : n % 2 === 0 ? `v${n}` : String.fromCharCode(n),
    );
    assert.deepEqual(
      found.map((record) => (record?.value === undefined ? undefined : Buffer.from(record.value as string).toString())),
      expected,
    );
    assert.deepEqual(
      new Set(found.slice(10).map((record) => `${record?.metadata} ${record?.expiresAt}`)),
      new Set(['null null']),
    );
  });

  test('what has expired is not there', async () => {
    await store.put(at, 'brief', { value: 'a', metadata: null, expiresAt: now + 1000 }, now);
    assert.equal((await store.get(at, ['brief'], now + 999))[0]?.expiresAt, now + 1000);
    assert.deepEqual(await store.get(at, ['brief'], now + 1000), [null]);
    const page = await store.list(at, { prefix: 'brief', after: null, limit: 10 }, now + 1000);
    assert.deepEqual(page.keys, []);
    assert.equal(await store.update(at, 'brief', (before) => String(before), now + 1000), 'undefined');
  });

  test('keys come in byte order, a page at a time', async () => {
    const place = { namespace: 'shop', resource: 'pages' };
    for (const key of ['b', 'a/2', 'Z', 'a/1', 'é', '\u{1f600}', '\uffee', 'a%'])
      await store.put(place, key, { value: key, ...plain }, now);
    const names = async (page: { prefix: string; after: string | null; limit: number }): Promise<[string, boolean]> => {
      const { keys, more } = await store.list(place, page, now);
      return [keys.map(({ name }) => name).join(' '), more];
    };
    assert.deepEqual(await names({ prefix: '', after: null, limit: 100 }), [
      'Z a% a/1 a/2 b é \uffee \u{1f600}',
      false,
    ]);
    assert.deepEqual(await names({ prefix: '', after: null, limit: 3 }), ['Z a% a/1', true]);
    assert.deepEqual(await names({ prefix: '', after: 'a/1', limit: 3 }), ['a/2 b é', true]);
    assert.deepEqual(await names({ prefix: 'a/', after: null, limit: 2 }), ['a/1 a/2', false]);
    assert.deepEqual(await names({ prefix: 'a%', after: null, limit: 2 }), ['a%', false]);
    assert.deepEqual(await names({ prefix: '\u{1f600}', after: null, limit: 2 }), ['\u{1f600}', false]);
    assert.deepEqual(await names({ prefix: '\uffee', after: null, limit: 2 }), ['\uffee', false]);
    assert.deepEqual(await names({ prefix: 'A', after: null, limit: 2 }), ['', false]);
    assert.deepEqual(await names({ prefix: 'a/', after: 'a/1', limit: 1 }), ['a/2', false]);
  });

  test('a write over a version succeeds only where that version is', async () => {
    const record = { value: '1', ...plain };
    assert.equal(await store.put(at, 'cas', record, now, 'no such version'), false);
    assert.equal(await store.put(at, 'cas', record, now, null), true);
    assert.equal(await store.put(at, 'cas', { value: '2', ...plain }, now, null), false);
    const version = (await store.get(at, ['cas'], now))[0]?.version as string;
    assert.equal(await store.put(at, 'cas', { value: '3', ...plain }, now, version), true);
    assert.equal(await store.put(at, 'cas', { value: '4', ...plain }, now, version), false);
    assert.equal((await store.get(at, ['cas'], now))[0]?.value, '3');
  });

  test('a thousand updates at once all count', async () => {
    const count = (before: string | undefined): string => String(Number(before ?? 0) + 1);
    await Promise.all(Array.from({ length: 1000 }, () => store.update(at, 'count', count, now)));
    assert.equal((await store.get(at, ['count'], now))[0]?.value, '1000');
  });

  test('an update that throws leaves the value and everything beside it', async () => {
    await store.put(at, 'kept', { value: '"a"', metadata: '1', expiresAt: now + 5000 }, now);
    await assert.rejects(
      async () =>
        store.update(
          at,
          'kept',
          () => {
            throw new TypeError('no');
          },
          now,
        ),
      { message: 'no' },
    );
    await store.update(at, 'kept', (before) => `[${before}]`, now);
    const [record] = await store.get(at, ['kept'], now);
    assert.deepEqual([record?.value, record?.metadata, record?.expiresAt], ['["a"]', '1', now + 5000]);
  });

  test('a deleted key is gone, and deleting it again is no error', async () => {
    await store.put(at, 'gone', { value: 'a', ...plain }, now);
    await store.delete(at, 'gone');
    await store.delete(at, 'gone');
    assert.deepEqual(await store.get(at, ['gone'], now), [null]);
  });
}
