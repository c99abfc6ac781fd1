// Archives of backups that lie: whatever is done to the bytes of one, it is refused, or what it gives is what went in.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { isFailure } from '#core/failure.ts';
import { createArchiveFile, openArchiveFile } from '#operations/archive/archive-file.ts';
import { newCodec } from '#operations/archive/codec.ts';
import { parseHeader, parseManifest } from '#operations/archive/manifest.ts';
import { openBackup } from '#operations/archive/reader.ts';
import { BackupWriter } from '#operations/archive/writer.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const ROUNDS = Number(process.env['FUZZ_RUNS'] ?? 300);
const folder = mkdtempSync(path.join(tmpdir(), 'platform-fuzz-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const createdAt = '2026-11-23T13:00:00.000Z';
const contents: Readonly<Record<string, string>> = {
  'routes/shop.json': '{"version":1}',
  'artifacts/a/manifest.json': 'x'.repeat(3000),
  'artifacts/a/empty': '',
};

async function write(file: string): Promise<void> {
  const codec = await newCodec(null);
  const sink = await createArchiveFile(file, { format: 1, platform: '0.1.0', createdAt, encryption: null });
  const writer = new BackupWriter(sink, codec, () => {});
  for (const [name, text] of Object.entries(contents)) await writer.add({ kind: 'file', name }, [Buffer.from(text)]);
  await writer.finish({ platform: '0.1.0', createdAt, schema: null, sequences: [], keyId: null, leftOut: [] });
}

async function read(file: string): Promise<Record<string, string>> {
  const backup = await openBackup(await openArchiveFile(file), null);
  try {
    const found: Record<string, string> = {};
    for (const part of backup.manifest.parts) {
      const pieces: Buffer[] = [];
      for await (const piece of backup.read(part)) pieces.push(piece);
      found[part.name] = Buffer.concat(pieces).toString();
    }
    return found;
  } finally {
    await backup.close();
  }
}

test(`${ROUNDS} damaged archives are refused, or give what went in`, async () => {
  const whole = path.join(folder, 'whole.tar');
  await write(whole);
  assert.deepEqual(await read(whole), contents);
  const bytes = readFileSync(whole);
  const random = createSeededRandom();
  const file = path.join(folder, 'damaged.tar');
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    let damaged = Buffer.from(bytes);
    for (let times = 1 + random.below(3); times > 0; times--) {
      const at = random.below(damaged.length);
      const what = random.below(4);
      if (what === 0) damaged[at]! ^= 1 << random.below(8);
      else if (what === 1) damaged = damaged.subarray(0, at);
      else if (what === 2)
        damaged = Buffer.concat([damaged.subarray(0, at), damaged.subarray(at + random.below(2000))]);
      else damaged = Buffer.concat([damaged, damaged.subarray(at, at + 512)]);
      if (damaged.length === 0) break;
    }
    writeFileSync(file, damaged);
    try {
      assert.deepEqual(await read(file), contents, `seed ${random.seed}, round ${round}`);
    } catch (error) {
      assert.ok(isFailure(error, 'backup'), `seed ${random.seed}, round ${round}: ${String(error)}`);
      refused++;
    }
  }
  assert.ok(refused > ROUNDS * 0.9, `${refused} of ${ROUNDS}`);
});

test('a bit that changed in the head of an archive is seen, whichever it is', async () => {
  const whole = path.join(folder, 'head.tar');
  await write(whole);
  const bytes = readFileSync(whole);
  const file = path.join(folder, 'head-damaged.tar');
  // The first header, and what it announces: one bit of each byte, each in its turn; with many rounds all of them.
  const taken: number[] = [];
  for (let bit = 0; bit < 2 * 512 * 8; bit += ROUNDS < 10_000 ? 7 : 1) {
    const damaged = Buffer.from(bytes);
    damaged[bit >> 3]! ^= 1 << (bit & 7);
    writeFileSync(file, damaged);
    await read(file).then(
      () => taken.push(bit),
      (error: unknown) => assert.ok(isFailure(error, 'backup'), `bit ${bit}: ${String(error)}`),
    );
  }
  assert.deepEqual(taken, []);
});

const manifest = (parts: readonly object[]): string =>
  JSON.stringify({
    format: 1,
    platform: '0.1.0',
    createdAt,
    schema: null,
    sequences: [],
    keyId: null,
    leftOut: [],
    parts,
  });
const part = (kind: string, name: string, more: object = {}): object => ({
  kind,
  name,
  bytes: 0,
  sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  blobs: [],
  ...more,
});

test('a part never leaves its folder, and is never a program', () => {
  for (const [kind, name] of [
    ['file', '../etc/passwd'],
    ['file', '/etc/passwd'],
    ['file', 'routes/../../x'],
    ['file', 'routes/./x'],
    ['file', 'routes\\..\\x'],
    ['file', 'secrets/encryption-key'],
    ['file', 'postgres/password'],
    ['file', 'repositories/r.git/hooks/post-receive'],
    ['file', 'artifacts/a\u0000b'],
    ['key', 'secrets/../x'],
    ['key', 'private-port.token'],
    ['database', '../x'],
    ['database', 'shop/../../x'],
    ['content', '../../x'],
    ['index', 'other'],
    ['table', 'control.project; DROP TABLE x'],
  ] as const)
    assert.throws(() => parseManifest(manifest([part(kind, name)])), { kind: 'backup', reason: 'damaged' }, name);
  assert.throws(
    () => parseManifest(manifest([part('table', 'control.x', { rows: 0, columns: ['a) FROM PROGRAM'] })])),
    /manifest is not valid/,
  );
  assert.throws(() => parseManifest(manifest([part('file', 'routes/a'), part('file', 'routes/a')])), /is there twice/);
});

test('a newer format is named, with the version that wrote it needed', () => {
  const header = { format: 2, platform: '9.0.0', createdAt, encryption: null, more: true };
  assert.throws(() => parseHeader(JSON.stringify(header)), {
    reason: 'newer',
    message: 'The backup has format 2, which this version of the platform does not read (it reads 1)',
  });
});
