import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import ivm from 'isolated-vm';
import { isLoader, loaderArguments, nodeCommand } from '#core/process/node-command.ts';
import { loadNative } from '#runtime/engine/isolates/native.ts';
import { readContexts } from '#runtime/engine/isolates/snapshot-contexts.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { loadSnapshot, snapshotKey } from '#runtime/engine/isolates/snapshot.ts';

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
  [
    'was changed by a byte',
    (content: Buffer) => content.fill(content.readUInt8(5000) ^ 1, 5000, 5001),
    /content does not match its hash/,
  ],
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

test('V8 takes the compiled forms of the lazy scripts in isolates of the snapshot', async () => {
  const snapshot = await loadSnapshot(folder);
  const { isolate } = await snapshot.open({ memoryLimit: 128, native: loadNative() });
  for (const [name, { code, cache }] of Object.entries(snapshot.lazy)) {
    const cachedData = new ivm.ExternalCopy(new Uint8Array(Buffer.from(cache, 'base64')).buffer);
    const script = isolate.compileScriptSync(code, { filename: `platform:${name}`, cachedData }) as {
      cachedDataRejected?: boolean;
    };
    assert.equal(script.cachedDataRejected, false, name);
  }
  isolate.dispose();
});

test('each isolate gets the guest in the context that is asked for, and a bare one beside it', async () => {
  const { open } = await loadSnapshot(folder);
  for (let round = 0; round < 3; round++) {
    const { isolate, context } = await open({ memoryLimit: 16, native: loadNative() });
    assert.equal(context.evalSync('typeof connect + typeof Response'), 'functionfunction');
    assert.equal(isolate.createContextSync().evalSync('typeof connect + typeof Response'), 'undefinedundefined');
    isolate.dispose();
  }
});

test('a blob that is laid out another way is refused', () => {
  assert.throws(() => readContexts(new ArrayBuffer(0x200)), /lays out its snapshots in a way that is not known/);
  assert.throws(() => readContexts(new ArrayBuffer(8)), /lays out its snapshots in a way that is not known/);
});

test('a child of a Node that runs under a loader is started through it', () => {
  assert.ok(isLoader('/cache/root/lib64/ld-linux-x86-64.so.2'));
  assert.ok(!isLoader('/usr/bin/node'));
  assert.deepEqual(loaderArguments(['--library-path', '/a:/b', '/usr/bin/node', '--no-node-snapshot', 'main.ts', '']), [
    '--library-path',
    '/a:/b',
    '/usr/bin/node',
  ]);
  assert.deepEqual(loaderArguments(['node', 'main.ts']), ['node']);
  assert.deepEqual(nodeCommand(), [process.execPath]);
});

test('a cache folder that others can write to is closed to them first', async () => {
  chmodSync(folder, 0o777);
  await loadSnapshot(folder);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
});

test('PLATFORM_CACHE_DIR goes before the user cache folder', () => {
  assert.equal(cacheFolder({ PLATFORM_CACHE_DIR: '/a', XDG_CACHE_HOME: '/b' }), '/a');
  assert.equal(cacheFolder({ XDG_CACHE_HOME: '/b' }), '/b/platform');
});
