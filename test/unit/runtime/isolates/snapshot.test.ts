import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { cacheFolder, loadSnapshot, snapshotKey } from '#runtime/isolates/snapshot.ts';

const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const file = (): string => join(folder, readdirSync(folder).find((name) => name.endsWith('.snapshot')) as string);

test('the first load builds the snapshot into a file that only its owner can touch, the next one reads it', async () => {
  const built = await loadSnapshot(folder);
  assert.equal(built.key, snapshotKey());
  assert.equal(statSync(file()).mode & 0o777, 0o600);
  const { mtimeMs } = statSync(file());
  const read = await loadSnapshot(folder);
  assert.equal(read.bytes, built.bytes);
  assert.equal(statSync(file()).mtimeMs, mtimeMs);
});

for (const [what, change, reason] of [
  ['was changed by a byte', (content: Buffer) => content.fill(content.readUInt8(5000) ^ 1, 5000, 5001), /content does not match its hash/],
  ['was cut', (content: Buffer) => content.subarray(0, content.length - 1), /content does not match its hash/],
  ['is something else', () => Buffer.from('hello'), /is not a snapshot/],
  [
    'was built from other sources',
    (content: Buffer) => Buffer.concat([content.subarray(0, 23), Buffer.from('0'.repeat(64)), content.subarray(87)]),
    /built from other sources or flags/,
  ],
] as const) {
  test(`a snapshot file that ${what} is refused with its name and what to do`, async () => {
    await loadSnapshot(folder);
    const good = readFileSync(file());
    writeFileSync(file(), change(Buffer.from(good)));
    await assert.rejects(loadSnapshot(folder), (error: Error & { code: string }) => {
      assert.equal(error.code, 'snapshot_mismatch');
      assert.match(error.message, reason);
      assert.ok(error.message.includes(`Delete ${file()} and start again`));
      return true;
    });
    writeFileSync(file(), good);
  });
}

test('a cache folder that others can write to is closed to them first', async () => {
  chmodSync(folder, 0o777);
  await loadSnapshot(folder);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
});

test('PLATFORM_CACHE_DIR goes before the user cache folder', () => {
  assert.equal(cacheFolder({ PLATFORM_CACHE_DIR: '/a', XDG_CACHE_HOME: '/b' }), '/a');
  assert.equal(cacheFolder({ XDG_CACHE_HOME: '/b' }), '/b/platform');
});
