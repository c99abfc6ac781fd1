// What every store of the Cache API promises, whatever it is made of. Run by cache-*.test.ts, each with its own store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CacheRecord, CacheStore } from '#runtime/engine/bindings/cache.ts';

/** A store under test, and a clock that the suite may move where the store takes one. */
interface CacheStoreCase {
  readonly store: CacheStore;
  /** Lets time pass. */
  pass(ms: number): Promise<void> | void;
  close(): Promise<void> | void;
}

const record = (text: string): CacheRecord => ({
  head: JSON.stringify({ text }),
  body: new TextEncoder().encode(text),
});

/** Runs the suite over the stores that `open` makes. */
export function testCacheStore(name: string, open: () => Promise<CacheStoreCase> | CacheStoreCase): void {
  const fact = (title: string, run: (subject: CacheStoreCase) => Promise<void>): void => {
    test(`${name}: ${title}`, async () => {
      const subject = await open();
      try {
        await run(subject);
      } finally {
        await subject.close();
      }
    });
  };

  fact('what was put is found again, byte for byte', async ({ store }) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    await store.set('a', 'key', { head: '{"ü":"\\u0000"}', body: bytes }, 1000);
    assert.deepEqual(await store.get('a', 'key'), { head: '{"ü":"\\u0000"}', body: bytes });
  });

  fact('a record may have no body, and an empty one is another thing', async ({ store }) => {
    await store.set('a', 'none', { head: '1', body: null }, 1000);
    await store.set('a', 'empty', { head: '2', body: new Uint8Array(0) }, 1000);
    assert.equal((await store.get('a', 'none'))!.body, null);
    assert.equal((await store.get('a', 'empty'))!.body!.byteLength, 0);
  });

  fact('what was not put is not there', async ({ store }) => {
    assert.equal(await store.get('a', 'key'), null);
    assert.equal(await store.delete('a', 'key'), false);
  });

  fact('projects do not see each other', async ({ store }) => {
    await store.set('a', 'key', record('of a'), 1000);
    assert.equal(await store.get('b', 'key'), null);
    await store.set('b', 'key', record('of b'), 1000);
    assert.equal(await store.delete('b', 'key'), true);
    assert.deepEqual(await store.get('a', 'key'), record('of a'));
  });

  fact('no project and key can be mistaken for another pair', async ({ store }) => {
    await store.set('a', 'b:c', record('1'), 1000);
    await store.set('a:b', 'c', record('2'), 1000);
    assert.deepEqual(await store.get('a', 'b:c'), record('1'));
    assert.deepEqual(await store.get('a:b', 'c'), record('2'));
  });

  fact('a second put replaces the first', async ({ store }) => {
    await store.set('a', 'key', record('first'), 1000);
    await store.set('a', 'key', record('second'), 1000);
    assert.deepEqual(await store.get('a', 'key'), record('second'));
  });

  fact('what was deleted is gone', async ({ store }) => {
    await store.set('a', 'key', record('x'), 1000);
    assert.equal(await store.delete('a', 'key'), true);
    assert.equal(await store.get('a', 'key'), null);
    assert.equal(await store.delete('a', 'key'), false);
  });

  fact('what has expired is gone, and not there to be deleted', async ({ store, pass }) => {
    await store.set('a', 'short', record('x'), 50);
    await store.set('a', 'long', record('x'), 60_000);
    await pass(60);
    assert.equal(await store.get('a', 'short'), null);
    assert.equal(await store.delete('a', 'short'), false);
    assert.notEqual(await store.get('a', 'long'), null);
  });

  fact('long keys do not collide', async ({ store }) => {
    const key = 'x'.repeat(20_000);
    await store.set('a', `${key}1`, record('1'), 1000);
    await store.set('a', `${key}2`, record('2'), 1000);
    assert.deepEqual(await store.get('a', `${key}1`), record('1'));
  });
}
