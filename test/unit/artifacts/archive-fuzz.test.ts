// Archives from strangers: whatever comes, it is refused with an error of ours, or is an artifact whose id is that of
// its content. `FUZZ_RUNS=100000 npm test -- archive-fuzz` tries as many.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { hashOf } from '#core/artifact-id.ts';
import { isArchiveError } from '#core/archive/archive-error.ts';
import { readArchive } from '#artifacts/archive/read-archive.ts';
import { checkFiles } from '#artifacts/archive/receive-artifact.ts';
import { BLOCK_BYTES, tarHeader } from '#core/archive/tar-header.ts';
import { archiveOf, signHeader, staticArtifact } from '#test/setup/archives.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const inputs = Number(process.env['FUZZ_RUNS'] ?? 1500);
const limits = { artifactBytesMax: 100_000, artifactFilesMax: 20 };
const random = createSeededRandom();
const good = staticArtifact('a page of the site');

const paths = [
  '../x',
  '/etc/passwd',
  'assets/..',
  'assets/.',
  './',
  './assets/',
  'assets/a/../../x',
  'assets/\u0000x',
  'encoded/x',
  'assets/index.html',
  'assets/INDEX.html',
  'manifest.json/x',
  'worker.js',
  'assets',
  'assets/\ud800',
  'C:\\x',
  '',
  `assets/${'a'.repeat(300)}`,
  `assets/${'b/'.repeat(90)}c`,
  'assets/ü',
  '~/.ssh/id',
  'migrations.json',
];
const jsons = [
  '{}',
  'null',
  '[',
  '1e999',
  '"x"',
  '{"version":1}',
  '[[[[[[[[',
  '{"__proto__":{"version":1}}',
  `${'['.repeat(9000)}`,
];

/** One of the good archive's, changed in a few places. */
function input(): Buffer {
  const files: Record<string, string> = { ...good.files };
  for (let changes = random.below(3); changes > 0; changes--) {
    const name = random.pick(paths);
    if (random.below(2) === 0)
      files[name] = random.text(['x', '\n', '\0', '{"', 'path=', '27 path=assets/zzzzzzzzzzzz\n'], 20);
    else files['manifest.json'] = changedJson();
  }
  let archive = archiveOf(files, random.below(4) === 0 ? [[random.pick(paths), 'again']] : []);
  for (let changes = random.below(4); changes > 0; changes--) archive = changed(archive);
  if (random.below(3) === 0) {
    archive = gzipSync(archive, { level: 1 });
    if (random.below(2) === 0 && archive.length > 20)
      archive[10 + random.below(archive.length - 10)]! ^= 1 << random.below(8);
  }
  return archive;
}

function changedJson(): string {
  const text = good.files['manifest.json']!;
  if (random.below(3) === 0) return random.pick(jsons);
  const parts = text.split(/(?<=[,:{}[\]])/);
  const at = random.below(parts.length);
  parts.splice(
    at,
    random.below(2),
    random.pick(['null,', '-1,', '"../",', '{},', '"a\\u0000b",', '[]', 'true,', '"x":1,']),
  );
  return parts.join('');
}

function changed(archive: Buffer): Buffer {
  const copy = Buffer.from(archive);
  const blocks = Math.floor(copy.length / BLOCK_BYTES);
  if (blocks === 0) return copy;
  const at = random.below(blocks) * BLOCK_BYTES;
  const block = copy.subarray(at, at + BLOCK_BYTES);
  switch (random.below(7)) {
    case 0:
      copy[random.below(copy.length)]! ^= 1 << random.below(8);
      return copy;
    case 1:
      return copy.subarray(0, random.below(copy.length));
    case 2:
      block.write(random.pick(['0', '1', '2', '3', '4', '5', '6', '7', 'x', 'g', 'L', 'K', 'S', 'V', '\0', 'A']), 156);
      break;
    case 3:
      block.write(
        random.pick([
          '00000000000',
          '77777777777',
          '00000000777',
          '-0000000001',
          '           ',
          '\x80\0\0\0\0\0\0\0\0\0\x01',
          'zzzzzzzzzzz',
        ]),
        124,
        'latin1',
      );
      break;
    case 4: {
      const name = random.pick(paths);
      block.fill(0, 0, 100);
      block.write(name.slice(0, 100), 0);
      if (random.below(2) === 0) block.write('..', 345);
      break;
    }
    case 5:
      return Buffer.concat([
        copy.subarray(0, at),
        tarHeader(random.pick(paths), random.below(2000)),
        copy.subarray(at),
      ]);
    default: {
      const from = random.below(blocks) * BLOCK_BYTES;
      return Buffer.concat([
        copy.subarray(0, at),
        copy.subarray(from, from + BLOCK_BYTES * (1 + random.below(3))),
        copy.subarray(at),
      ]);
    }
  }
  signHeader(block);
  return copy;
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + random.below(1500);
    yield bytes.subarray(at, end);
    at = end;
  }
}

test(`of ${inputs} archives none is taken for what it is not, and none breaks the reader`, async () => {
  let taken = 0;
  for (let number = 0; number < inputs; number++) {
    const archive = input();
    const contents = new Map<string, Buffer>();
    try {
      const files = await readArchive(inPieces(archive), limits, async (path, content) => {
        assert.ok(!path.startsWith('/') && !path.split('/').includes('..') && !path.includes('\0'), path);
        const parts: Uint8Array[] = [];
        for await (const part of content) parts.push(part);
        contents.set(path, Buffer.concat(parts));
      });
      const { id, manifest } = await checkFiles(files, async (name) => contents.get(name)!.toString('utf8'));
      assert.equal(manifest.version, 1);
      if (id === good.id) assert.equal(hashOf(contents.get('assets/index.html')!), hashOf('a page of the site'));
      taken++;
    } catch (error) {
      if (isArchiveError(error)) continue;
      throw new Error(`Input ${number} of FUZZ_SEED=${random.seed}: ${archive.toString('base64').slice(0, 4000)}`, {
        cause: error,
      });
    }
  }
  console.log(`archives: ${inputs} inputs, ${taken} taken, FUZZ_SEED=${random.seed}`);
  assert.ok(taken > 0 && taken < inputs);
});
