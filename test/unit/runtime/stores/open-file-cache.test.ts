import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { OpenFileCache, type CachedFile } from '#runtime/stores/open-file-cache.ts';

let folder: string;
before(() => void (folder = mkdtempSync(join(tmpdir(), 'platform-kept-'))));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function text(file: CachedFile, length: number): Promise<string> {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, await file.read(bytes, 0, length, 0)).toString();
}

/** Files below a path that this process holds open. */
function openBelow(path: string): string[] {
  const held = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return '';
    }
  });
  return held.filter((name) => name.startsWith(path));
}

const isClosed = async (path: string): Promise<void> => {
  while (openBelow(path).length > 0) await new Promise((resolve) => setImmediate(resolve));
};

test('a file is opened once, and read without waiting the second time', async () => {
  const files = new OpenFileCache();
  const path = write('once', 'content');
  const first = await files.open(path);
  assert.equal(await text(first, 7), 'content');
  first.close();
  const second = await files.open(path);
  assert.equal(second.read(Buffer.alloc(3), 0, 3, 0), 3);
  assert.equal(openBelow(path).length, 1);
  second.close();
  files.close();
  await isClosed(path);
});

test('a file that is forgotten while it is read is read to its end, and closed then', async () => {
  const files = new OpenFileCache();
  const path = write('forgotten', 'old');
  const reader = await files.open(path);
  rmSync(path);
  files.forget(path);
  await assert.rejects(files.open(path), { code: 'ENOENT' });
  assert.equal(await text(reader, 3), 'old');
  assert.equal(openBelow(path).length, 1);
  reader.close();
  await isClosed(path);
  files.close();
});

test('the file that was not used for longest makes room for another', async () => {
  const files = new OpenFileCache();
  for (let n = 0; n < 128; n++) ((await files.open(write(`many-${n}.`, ''))) as CachedFile).close();
  (await files.open(join(folder, 'many-0.'))).close();
  (await files.open(write('many-new.', ''))).close();
  await isClosed(join(folder, 'many-1.'));
  assert.equal(openBelow(join(folder, 'many-')).length, 128);
  assert.equal(openBelow(join(folder, 'many-0.')).length, 1);
  files.close();
  await isClosed(folder);
});
