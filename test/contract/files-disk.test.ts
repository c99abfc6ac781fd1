// Files in a folder, as `platform dev` and a handler without S3 keep them.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
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
