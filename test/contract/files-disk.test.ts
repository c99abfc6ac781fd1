// Files in a folder, as `platform dev` and a handler without S3 keep them.
import assert from 'node:assert/strict';
import { pbkdf2 } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { FreeSpace } from '#core/process/free-space.ts';
import type { StorageGuard } from '#core/storage-left.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { full } from '#runtime/stores/files-disk-contents.ts';
import { fileStoreContract } from './file-store.ts';

fileStoreContract(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-files-'));
  const store = openFilesDisk(folder);
  return {
    store,
    async close() {
      store.close();
      await rm(folder, { recursive: true });
    },
  };
});

test('what a crash left without a row goes when it is a day old', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-files-'));
  const place = { namespace: 'a', resource: 'b' };
  const write = { headers: {}, metadata: {}, onlyIf: null, digests: {}, bytesMax: 100 };
  let store = openFilesDisk(folder);
  await store.put(place, 'kept', Readable.from([Buffer.from('kept')]), write);
  const upload = await store.createUpload(place, 'large', write);
  await store.putPart(place, 'large', upload, 1, Readable.from([Buffer.from('part')]), 100);
  store.close();
  const contents = async (): Promise<string[]> =>
    (await readdir(join(folder, 'content'), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const known = await contents();
  assert.equal(known.length, 2);
  const { mkdir, writeFile } = await import('node:fs/promises');
  await mkdir(join(folder, 'content/ff'), { recursive: true });
  for (const name of ['ffold', 'ffyoung']) await writeFile(join(folder, 'content/ff', name), 'orphan');
  const old = new Date(Date.now() - 25 * 60 * 60 * 1000);
  for (const file of [...known, join(folder, 'content/ff/ffold')]) await utimes(file, old, old);
  store = openFilesDisk(folder);
  store.close();
  assert.deepEqual((await contents()).toSorted(), [...known, join(folder, 'content/ff/ffyoung')].toSorted());
  await rm(folder, { recursive: true });
});

const pbkdf2Later = promisify(pbkdf2);
const write = { headers: {}, metadata: {}, onlyIf: null, digests: {}, bytesMax: 1e9 };
const everything = { range: null, onlyIf: null };

async function withStore(
  work: (store: ReturnType<typeof openFilesDisk>, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-files-'));
  const store = openFilesDisk(folder);
  try {
    await work(store, folder);
  } finally {
    store.close();
    await rm(folder, { recursive: true });
  }
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

test('a file that another process replaces while it is being opened comes whole, as the new one', () =>
  withStore(async (store, folder) => {
    const place = { namespace: 'a', resource: 'b' };
    await store.put(place, 'busy', Buffer.alloc(100_000, '0'), write);
    await store.put(place, 'new', Buffer.alloc(50_000, '1'), write);
    // Every thread that opens files is held up until the other process is through.
    const threads = Array.from({ length: 8 }, () => pbkdf2Later('password', 'salt', 100_000, 64, 'sha512'));
    const getting = store.get(place, 'busy', everything);
    const index = new Database(join(folder, 'index.sqlite'));
    const [old] = JSON.parse(
      index.prepare("SELECT contents FROM files WHERE key = 'busy'").pluck().get() as string,
    ) as { name: string }[];
    index.exec("DELETE FROM files WHERE key = 'busy'; UPDATE files SET key = 'busy' WHERE key = 'new'");
    index.close();
    rmSync(join(folder, 'content', old!.name.slice(0, 2), old!.name));
    const found = await getting;
    assert.equal(found?.head.size, 50_000);
    assert.match((await bytesOf(found!.body!)).toString(), /^1{50000}$/);
    await Promise.all(threads);
  }));

test('a file that another process deletes while it is being opened is not there', () =>
  withStore(async (store, folder) => {
    const place = { namespace: 'a', resource: 'b' };
    await store.put(place, 'gone', Buffer.from('gone'), write);
    const threads = Array.from({ length: 8 }, () => pbkdf2Later('password', 'salt', 100_000, 64, 'sha512'));
    const getting = store.get(place, 'gone', everything);
    const contents = readdirSync(join(folder, 'content'), { recursive: true, withFileTypes: true });
    const index = new Database(join(folder, 'index.sqlite'));
    index.exec("DELETE FROM files WHERE key = 'gone'");
    index.close();
    for (const entry of contents) if (entry.isFile()) rmSync(join(entry.parentPath, entry.name));
    assert.equal(await getting, null);
    await Promise.all(threads);
  }));

test('a file of more parts than are opened at once is read to its end after it was replaced', () =>
  withStore(async (store) => {
    const place = { namespace: 'a', resource: 'b' };
    const upload = await store.createUpload(place, 'many', write);
    const parts: { part: number; etag: string }[] = [];
    for (let part = 1; part <= 100; part++)
      parts.push({ part, ...(await store.putPart(place, 'many', upload, part, Buffer.alloc(1000, part), 1e9)) });
    await store.completeUpload(place, 'many', upload, parts);
    const found = await store.get(place, 'many', everything);
    await store.put(place, 'many', Buffer.from('new'), write);
    const content = await bytesOf(found!.body!);
    assert.ok(content.equals(Buffer.concat(Array.from({ length: 100 }, (_, at) => Buffer.alloc(1000, at + 1)))));
    const after = await store.get(place, 'many', everything);
    assert.equal((await bytesOf(after!.body!)).toString(), 'new');
  }));

test('a namespace keeps no more bytes than it may, parts of uploads and other processes included', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-files-'));
  const [store, other] = [
    openFilesDisk(folder, { namespaceBytesMax: 3116 }),
    openFilesDisk(folder, { namespaceBytesMax: 3116 }),
  ];
  const place = { namespace: 'a', resource: 'b' };
  const refused = { code: 'quota_exceeded', message: 'The files of this project would exceed 3116 bytes' };
  const bytes = (count: number): Buffer => Buffer.alloc(count, 'x');
  // With its key and its empty texts: 1067.
  await store.put(place, 'one', bytes(60), write);
  await assert.rejects(other.put(place, 'two', bytes(1043), write), refused);
  assert.equal(await store.head(place, 'two'), null);
  await other.put({ ...place, namespace: 'other' }, 'two', bytes(2109), write);
  await other.put(place, 'one', bytes(90), write);
  const upload = await store.createUpload(place, 'large', write);
  const parts = [{ part: 1, ...(await store.putPart(place, 'large', upload, 1, bytes(10), 100)) }];
  await assert.rejects(store.putPart(place, 'large', upload, 2, bytes(1), 100), refused);
  await store.delete(place, ['one', 'none']);
  parts.push({ part: 2, ...(await other.putPart(place, 'large', upload, 2, bytes(97), 100)) });
  await store.completeUpload(place, 'large', upload, parts);
  await assert.rejects(store.put(place, 'more', bytes(1), write), refused);
  await store.put(place, 'large', bytes(1), write);
  await store.put(place, 'more', bytes(1098), write);
  const contents = (await readdir(join(folder, 'content'), { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  assert.equal(contents.length, 3);
  store.close();
  other.close();
  await rm(folder, { recursive: true });
});

test('keys, metadata and each file, part and upload count besides its bytes, also to the organization', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-files-'));
  let account = 0;
  const note = (namespace: string, bytes: number): void => {
    assert.equal(namespace, 'a');
    account += bytes;
  };
  const storage = { take: note, note } as unknown as StorageGuard;
  const store = openFilesDisk(folder, { namespaceBytesMax: 20_000, storage });
  const place = { namespace: 'a', resource: 'b' };
  const counts = async (bytes: number): Promise<void> =>
    assert.deepEqual([(await store.kept()).get('a') ?? 0, account], [bytes, bytes]);
  const empty = Buffer.alloc(0);
  const texts = { ...write, headers: { contentType: 'text/plain' }, metadata: { note: 'é'.repeat(500) } };
  await store.put(place, 'k'.repeat(100), empty, texts);
  // 1000 each, the key, {"contentType":"text/plain"} and {"note":"é..."}.
  await counts(1000 + 100 + 28 + 1011);
  await store.put(place, 'k'.repeat(100), Buffer.alloc(70), write);
  await counts(1000 + 100 + 4 + 70);
  assert.equal(await store.put(place, 'k'.repeat(100), empty, { ...texts, onlyIf: { etagMatches: ['x'] } }), null);
  await assert.rejects(store.put(place, 'wrong', Buffer.alloc(9), { ...texts, digests: { md5: '0'.repeat(32) } }));
  await assert.rejects(store.put(place, 'large', Buffer.alloc(19_000), texts), { code: 'quota_exceeded' });
  await assert.rejects(store.put(place, 'large', Readable.from([Buffer.alloc(9)]), { ...write, bytesMax: 8 }));
  await counts(1174);
  const upload = await store.createUpload(place, 'parts', texts);
  await counts(1174 + 1000 + 5 + 28 + 1011);
  const parts = [1, 2, 3].map((part) => store.putPart(place, 'parts', upload, part, empty, 100));
  const [first, second] = await Promise.all(parts);
  await store.putPart(place, 'parts', upload, 1, empty, 100);
  await counts(3218 + 3 * 1000);
  await store.completeUpload(place, 'parts', upload, [
    { part: 1, ...first! },
    { part: 2, ...second! },
  ]);
  await counts(3218 + 1000);
  const given = await store.createUpload(place, 'given', write);
  await store.putPart(place, 'given', given, 1, empty, 100);
  await counts(4218 + 1000 + 9 + 1000);
  await store.abortUpload(place, 'given', given);
  await store.delete(place, ['k'.repeat(100)]);
  await counts(4218 - 1174);
  await store.putPart(place, 'rest', await store.createUpload(place, 'rest', write), 1, Buffer.alloc(5), 100);
  assert.equal(await store.clear(place), 1);
  await counts(0);
  store.close();
  await rm(folder, { recursive: true });
});

test('files of before there was a count, or one of their bytes alone, are counted once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-files-'));
  const place = { namespace: 'a', resource: 'b' };
  let store = openFilesDisk(folder);
  await store.put(place, 'one', Buffer.alloc(60), write);
  const upload = await store.createUpload(place, 'two', write);
  await store.putPart(place, 'two', upload, 1, Buffer.alloc(30), 100);
  store.close();
  for (const before of [
    'DROP TABLE used; DROP TABLE dropped; PRAGMA user_version = 0',
    'UPDATE used SET bytes = 90; PRAGMA user_version = 1',
  ]) {
    const index = new Database(join(folder, 'index.sqlite'));
    index.exec(before);
    index.close();
    for (let opened = 0; opened < 2; opened++) {
      store = openFilesDisk(folder, { namespaceBytesMax: 4122 });
      assert.deepEqual([...(await store.kept())], [['a', 1067 + 1007 + 1030]]);
      await assert.rejects(store.put(place, 'three', Buffer.alloc(10), write), { code: 'quota_exceeded' });
      store.close();
    }
  }
  await rm(folder, { recursive: true });
});

test('an index of before files had digests is taken over', async () => {
  await withStore(async (store, folder) => {
    await store.put({ namespace: 'a', resource: 'b' }, 'old', Buffer.from('old'), write);
    const index = new Database(join(folder, 'index.sqlite'));
    index.exec('ALTER TABLE files DROP COLUMN digests');
    index.close();
    const again = openFilesDisk(folder);
    try {
      assert.deepEqual((await again.head({ namespace: 'a', resource: 'b' }, 'old'))?.digests, {});
      const md5 = '22af645d1859cb5ca6da0c484f1f37ea';
      assert.deepEqual(
        (await again.put({ namespace: 'a', resource: 'b' }, 'new', Buffer.from('new'), { ...write, digests: { md5 } }))
          ?.digests,
        { md5 },
      );
    } finally {
      again.close();
    }
  });
});

test('a full disk takes no file, and gives and deletes those it has', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  let free = 2;
  let now = 0;
  const space = new FreeSpace(
    folder,
    2,
    () => ({ bavail: free, bsize: 1 }),
    () => (now += 2000),
  );
  const store = openFilesDisk(folder, { space });
  const place = { namespace: 'p', resource: 'r' };
  const write = { headers: {}, metadata: {}, onlyIf: null, digests: {}, bytesMax: 100 };
  await store.put(place, 'kept', Buffer.from('text'), write);
  free = 1;
  await assert.rejects(store.put(place, 'other', Buffer.from('text'), write), { code: 'disk_full' });
  assert.equal((await store.head(place, 'kept'))?.size, 4);
  assert.equal(await store.head(place, 'other'), null);
  await store.delete(place, ['kept']);
  assert.equal(await store.head(place, 'kept'), null);
  store.close();
  await rm(folder, { recursive: true });
});

test('a full disk is said as such, whether the system says it or SQLite', () => {
  assert.deepEqual(
    ['ENOSPC', 'SQLITE_FULL', 'EACCES'].map(
      (code) => (full(Object.assign(new Error('x'), { code })) as { code: string }).code,
    ),
    ['quota_exceeded', 'quota_exceeded', 'EACCES'],
  );
});
