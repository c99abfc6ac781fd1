import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryCache } from '#runtime/stores/cache-memory.ts';
import { testCacheStore } from './cache-store.ts';

testCacheStore('memory', () => {
  let time = 0;
  return {
    store: createMemoryCache({ bytesMax: 1_000_000, now: () => time }),
    pass: (ms) => void (time += ms),
    close: () => {},
  };
});

const kilobyte = { head: '', body: new Uint8Array(1000) };

test('memory: the least recently used goes first when there is no room', async () => {
  const store = createMemoryCache({ bytesMax: 4000 });
  for (const key of ['1', '2', '3']) await store.set('a', key, kilobyte, 1000);
  await store.get('a', '1');
  await store.set('a', '4', kilobyte, 1000);
  assert.equal(await store.get('a', '2'), null);
  for (const key of ['1', '3', '4']) assert.notEqual(await store.get('a', key), null, key);
});

test('memory: a project that holds most makes room for the others', async () => {
  const store = createMemoryCache({ bytesMax: 6700 });
  await store.set('small', '1', kilobyte, 1000);
  for (let key = 0; key < 50; key++) await store.set('large', String(key), kilobyte, 1000);
  assert.notEqual(await store.get('small', '1'), null);
  assert.notEqual(await store.get('large', '49'), null);
  assert.equal(await store.get('large', '44'), null);
});

test('memory: what is larger than all of it is not kept', async () => {
  const store = createMemoryCache({ bytesMax: 4000 });
  await store.set('a', '1', kilobyte, 1000);
  await store.set('a', '2', { head: '', body: new Uint8Array(5000) }, 1000);
  assert.equal(await store.get('a', '2'), null);
  assert.notEqual(await store.get('a', '1'), null);
});

test('memory: what is there is listed by prefix, without what has expired or is of another project', async () => {
  let time = 0;
  const store = createMemoryCache({ bytesMax: 100_000, now: () => time });
  for (const key of ['a1', 'a2', 'b1', 'a3']) await store.set('one', key, kilobyte, key === 'a2' ? 10 : 1000);
  await store.set('two', 'a4', kilobyte, 1000);
  await store.get('one', 'a1');
  time = 10;
  assert.deepEqual(
    store.list('one', 'a', 10).map(({ key, expiresAt }) => [key, expiresAt]),
    [
      ['a3', 1000],
      ['a1', 1000],
    ],
  );
  assert.equal(store.list('one', '', 1).length, 1);
  assert.deepEqual(store.list('none', '', 10), []);
});
