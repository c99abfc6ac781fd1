// What a build sandbox may answer when the builder asks for its artifact: archives that lead out, hold what is no file,
// are larger than they say, or never end. Nothing of them is written outside of one folder.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { fetchArtifact } from '#builder/steps/build-sandbox/fetch-artifact.ts';
import { takeArtifact } from '#builder/steps/take-artifact.ts';
import type { Failure } from '#core/failure.ts';
import { archiveOf, changedHeader, staticArtifact } from '#test/setup/archives.ts';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-archives-'));
chmodSync(folder, 0o700);
after(() => rmSync(folder, { recursive: true }));
const limits = { artifactBytesMax: 1_000_000, artifactFilesMax: 100, diskFreeBytesMin: 0 };
const { id, files } = staticArtifact();
let places = 0;

/** @param chunks what the sandbox answers. @returns why it is refused; null: it is taken. */
async function take(chunks: Buffer | AsyncIterable<Buffer>, more: Partial<typeof limits> = {}) {
  const target = join(folder, String(++places));
  for (const name of [target, `${target}-artifacts`]) mkdirSync(name);
  const read = async (): Promise<Readable> => Readable.from(Buffer.isBuffer(chunks) ? [chunks] : chunks);
  const bounds = { ...limits, ...more };
  try {
    await fetchArtifact({ script: async () => '', read }, id, target, bounds);
    await takeArtifact(target, id, `${target}-artifacts`, bounds);
    return null;
  } catch (error) {
    const { reason, message } = error as Failure<'build'>;
    return `${reason}: ${message}`;
  } finally {
    assert.deepEqual(
      readdirSync(folder).filter((name) => !/^\d+(?:-artifacts)?$/.test(name)),
      [],
    );
    assert.ok(!existsSync('/tmp/platform-archive-escaped'));
  }
}

const entry = (path: string, type = '0', target = ''): Buffer =>
  changedHeader(archiveOf({ [path]: '' }), (header) => {
    header.write(type, 156);
    header.write(target, 157);
  });

test('a whole archive is taken', async () => {
  assert.equal(await take(archiveOf(files)), null);
});

for (const [what, archive, refusal] of [
  ['a path that leads out', entry('../escaped'), /^artifact_invalid: .*"\.\.\/escaped"/],
  ['a path that leads out of a folder', entry('assets/../../escaped'), /^artifact_invalid/],
  ['an absolute path', entry('/tmp/platform-archive-escaped'), /^artifact_invalid: .*platform-archive-escaped/],
  ['a symbolic link', entry('assets/link', '2', '/etc/passwd'), /^artifact_invalid: .*link/],
  ['a hard link', entry('assets/link', '1', '/etc/passwd'), /^artifact_invalid: .*a hard link/],
  ['a device', entry('assets/disk', '4'), /^artifact_invalid: .*assets\/disk/],
  ['a character device', entry('assets/tty', '3'), /^artifact_invalid: .*assets\/tty/],
  ['a pipe', entry('assets/pipe', '6'), /^artifact_invalid: .*assets\/pipe/],
  ['a sparse file', entry('assets/sparse', 'S'), /^artifact_invalid: .*assets\/sparse/],
  ['a compressed archive', gzipSync(archiveOf(files)), /^artifact_invalid: .*no tar file/],
  ['a file that is not a part of an artifact', archiveOf({ ...files, '.bashrc': '' }), /^artifact_invalid: .*\.bashrc/],
  ['a file that the manifest does not name', archiveOf({ ...files, 'assets/b': '' }), /^artifact_invalid: .*assets\/b/],
  ['another content', archiveOf({ ...files, 'assets/index.html': 'hacked' }), /^artifact_invalid: .*index\.html/],
  ['an archive that is cut off', archiveOf(files).subarray(0, 700), /^artifact_invalid: .*truncated/],
  ['no archive at all', Buffer.from('no such file'.repeat(100)), /^artifact_invalid/],
  ['a file twice', archiveOf(files, [['assets/index.html', 'x']]), /^artifact_invalid: .*twice/],
  ['a file and a folder of one name', archiveOf(files, [['assets/index.html/x', 'x']]), /^artifact_invalid/],
] as const)
  test(`${what} is refused`, async () => {
    assert.match((await take(archive)) ?? 'taken', refusal);
  });

test('more bytes than an artifact may have are refused before they are written', async () => {
  const large = changedHeader(archiveOf({ 'assets/large': '' }), (header) => header.write('77777777777', 124));
  assert.match(
    (await take(large)) ?? 'taken',
    /^artifact_too_large: The artifact has 8589934591 bytes or more; BUILD_ARTIFACT_MAX_BYTES allows 1000000$/,
  );
});

test('more files than an artifact may have are refused', async () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`assets/${at}`, '']));
  assert.match(
    (await take(archiveOf(many))) ?? 'taken',
    /^artifact_too_many_files: .*BUILD_ARTIFACT_MAX_FILES allows$/,
  );
});

test('an archive that never ends is refused', async () => {
  async function* endless(): AsyncGenerator<Buffer> {
    yield archiveOf(files);
    for (;;) yield Buffer.alloc(65_536);
  }
  assert.match(
    (await take(endless(), { artifactFilesMax: 10 })) ?? 'taken',
    /^artifact_too_large: .* more than \d+ bytes$/,
  );
});

test('an id that is a path is refused', async () => {
  const machine = { script: () => assert.fail('asked'), read: () => assert.fail('asked') };
  await assert.rejects(fetchArtifact(machine, '../../etc', folder, limits), { reason: 'artifact_invalid' });
});
