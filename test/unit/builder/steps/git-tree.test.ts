import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leadsOut, pathProblem, readTree, shown } from '#builder/steps/git-tree.ts';
import { isFailure } from '#core/failure.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const HASH = 'a'.repeat(40);
const limits = { sourceBytesMax: 1000, sourceFilesMax: 5 };

async function* inChunks(text: string | Buffer, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function blob(path: string, bytes = 10, mode = '100644'): string {
  return `${mode} blob ${HASH} ${String(bytes).padStart(7)}\t${path}\0`;
}

test('files, links and sizes are read whatever the chunks are', async () => {
  const text = blob('a b/ü.ts') + blob('link', 5, '120000') + blob('new\nline');
  for (const size of [1, 7, 1000]) {
    const tree = await readTree(inChunks(text, size), limits);
    assert.deepEqual(tree.paths, ['a b/ü.ts', 'link', 'new\nline']);
    assert.deepEqual(tree.links, [{ path: 'link', object: HASH, bytes: 5 }]);
    assert.equal(tree.bytes, 25);
  }
});

for (const [what, text, reason] of [
  ['no files', '', 'repository_empty'],
  ['a submodule', `160000 commit ${HASH}       -\tlibs/a\0${blob('b')}`, 'submodules_unsupported'],
  ['too many files', Array.from({ length: 6 }, (_, n) => blob(`f${n}`)).join(''), 'source_too_large'],
  ['too many bytes', blob('a', 600) + blob('b', 401), 'source_too_large'],
  ['a parent', blob('a/../../b'), 'source_unsafe'],
  ['an absolute path', blob('/etc/passwd'), 'source_unsafe'],
  ['an empty part', blob('a//b'), 'source_unsafe'],
  ['.git', blob('.git/config'), 'source_unsafe'],
  ['.GiT below', blob('a/.GiT/hooks/x'), 'source_unsafe'],
  ['.git with a dot behind', blob('.git./config'), 'source_unsafe'],
  ['.git as a stream of NTFS', blob('.git::$INDEX_ALLOCATION/config'), 'source_unsafe'],
  ['.git by its short name', blob('GIT~1/config'), 'source_unsafe'],
  ['.git with a character that HFS leaves out', blob('.g\u200cit/config'), 'source_unsafe'],
  ['a folder as an entry', `040000 tree ${HASH} -\tx\0`, 'source_unsafe'],
  ['a file without a size', `100644 blob ${HASH} -\tx\0${blob('y', 2000)}`, 'source_unsafe'],
  ['a cut list', blob('a').slice(0, -1), 'source_unsafe'],
  ['an endless path', blob('a'.repeat(300)), 'source_unsafe'],
] as const)
  test(`a commit with ${what} is refused`, async () => {
    await assert.rejects(readTree(inChunks(text, 64), limits), { kind: 'build', reason });
  });

test('names that only look like those of Git are fine', () => {
  for (const path of ['.gitignore', '.github/x', 'a.git/b', 'git/config', 'git~x', '.gitkeep'])
    assert.equal(pathProblem(path), null, path);
});

test('links are followed by their text', () => {
  assert.equal(leadsOut('a/b/link', '../../c'), false);
  assert.equal(leadsOut('a/link', './b/../../c'), false);
  assert.equal(leadsOut('a/link', '../../c'), true);
  assert.equal(leadsOut('link', '..'), true);
  assert.equal(leadsOut('a/link', 'b/../../../a/x'), true);
  assert.equal(leadsOut('link', '/etc'), true);
});

test('a path in a message is one short line', () => {
  assert.equal(shown('a\nb\u202e'), '"a?b?"');
  assert.equal(shown('x'.repeat(300)).length, 125);
});

test('any bytes give a tree within bounds, or a failure that says why', async () => {
  const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 300);
  const { seed, below, pick } = createSeededRandom();
  const parts = ['.git', '..', '.', '', 'src', 'a\\b', '.GIT', 'x'.repeat(300), '\u200b.git', 'ü', '\t', '-x'];
  for (let round = 0; round < rounds; round++) {
    const entries = Array.from({ length: below(8) }, () => {
      const path = Array.from({ length: 1 + below(4) }, () => pick(parts)).join('/');
      const mode = pick(['100644', '120000', '160000', '100755', '', '9']);
      return `${mode} ${pick(['blob', 'commit', 'tree', 'x'])} ${pick([HASH, 'zz', ''])} ${pick(['-', '12', '1e9', '99999'])}\t${path}${pick(['\0', '\0', '\0', ''])}`;
    });
    const bytes = Buffer.from(entries.join(''));
    if (bytes.length > 0 && below(3) === 0) bytes[below(bytes.length)] = below(256);
    try {
      const tree = await readTree(inChunks(bytes, 1 + below(50)), limits);
      assert.ok(
        tree.paths.length > 0 && tree.paths.length <= limits.sourceFilesMax && tree.bytes <= 1000,
        `seed ${seed}`,
      );
      for (const path of tree.paths)
        assert.ok(
          !path.split('/').some((part) => part === '..' || part.toLowerCase() === '.git'),
          `seed ${seed}: ${path}`,
        );
    } catch (error) {
      assert.ok(isFailure(error, 'build'), `seed ${seed}, round ${round}: ${String(error)}`);
      assert.ok(!/[\p{Cc}]/u.test(error.message), `seed ${seed}, round ${round}: ${JSON.stringify(error.message)}`);
    }
  }
});
