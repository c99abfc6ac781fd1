// The rules about documents, on texts written down here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commentFindings, documentFindings } from '#test/tidy/document-rules.ts';
import { formatFinding } from '#test/tidy/findings.ts';

const scripts = JSON.stringify({ scripts: { test: '', bench: '', check: '' } });
const files = new Set([
  'README.md',
  'docs',
  'docs/limits.md',
  'core',
  'core/limits.ts',
  'bench/*hello*.bench.ts',
  'runtime/engine/router',
  'runtime/engine/router/route-table.ts',
  'runtime/engine/guest/calls.ts',
  'test/hostile/attacks/*regex*.ts',
]);

function findingsIn(file: string, text: string): string[] {
  const sources = { [file]: text, 'package.json': scripts, 'docs/limits.md': '# Limits\n\n## Of events, in ms\n' };
  return documentFindings({ ...sources, 'test/unit/core/names.test.ts': '' }, (name) => files.has(name)).map(
    formatFinding,
  );
}

test('a path in a document for developers exists, from the root, beside it, or below the engine', () => {
  assert.deepEqual(
    findingsIn('README.md', 'See `core/limits.ts`, `router/route-table`, `core/`, `src/index.ts` and `text/html`.'),
    [],
  );
  assert.deepEqual(findingsIn('runtime/engine/guest/README.md', '`calls.ts` and `gone.ts`'), [
    'runtime/engine/guest/README.md:1 names `gone.ts`, which does not exist',
  ]);
  assert.deepEqual(findingsIn('README.md', '\n`router/gone` and `core/gone.ts`'), [
    'README.md:2 names `router/gone`, which does not exist',
    'README.md:2 names `core/gone.ts`, which does not exist',
  ]);
});

test('a document for users may name files of their projects, and of ours only those that exist', () => {
  assert.deepEqual(findingsIn('docs/queue.md', 'Write `src/mail.ts` and `mail.ts`; we have `core/limits.ts`.'), []);
  assert.deepEqual(findingsIn('docs/queue.md', '`core/gone.ts`'), [
    'docs/queue.md:1 names `core/gone.ts`, which does not exist',
  ]);
});

test('a row of a table stands below its header', () => {
  const table = '| a | b |\n| - | - |\n| c | d |\n';
  assert.deepEqual(findingsIn('docs/queue.md', table), []);
  assert.deepEqual(findingsIn('docs/queue.md', `${table}\n| e | f |\n\nText.\n`), [
    'docs/queue.md:5 has a row of no table: | e | f |',
  ]);
});

test('a name that a document places in a file is there', () => {
  const text = { 'core/limits.ts': 'export const limits = 1;', 'package.json': scripts };
  const found = (line: string): string[] =>
    documentFindings({ ...text, 'README.md': line }, (name) => files.has(name)).map(formatFinding);
  assert.deepEqual(found('`limits` in `core/limits.ts`'), []);
  assert.deepEqual(found('`gone` in `core/limits.ts`'), [
    'README.md:1 looks for gone in core/limits.ts: it is not there',
  ]);
});

test('a link leads to a file and to a heading of it; fenced blocks are not looked at', () => {
  const good =
    '[a](docs/limits.md) [b](docs/limits.md#of-events-in-ms) [c](https://example.com) [d](#here)\n\n# Here\n';
  assert.deepEqual(findingsIn('README.md', good), []);
  assert.deepEqual(findingsIn('README.md', '```\n[a](gone.md) `core/gone.ts`\n```\n'), []);
  assert.deepEqual(findingsIn('README.md', '[a](gone.md) [b](docs/limits.md#of-nothing)'), [
    'README.md:1 links to gone.md, which does not exist',
    'README.md:1 links to docs/limits.md#of-nothing: docs/limits.md has no such heading',
  ]);
});

test('a command in a document is one, and its words pick something', () => {
  const good = '`npm test -- names`, `npm run bench hello`, `npm run check`, `npm test -- hostile spin-in-regex`';
  assert.deepEqual(findingsIn('README.md', good.replace('spin-in-regex', 'regex')), []);
  assert.deepEqual(findingsIn('README.md', '`npm test -- names gone`'), [
    'README.md:1 names npm test -- names gone: gone picks nothing',
  ]);
  assert.deepEqual(findingsIn('README.md', '`npm run gone`'), [
    'README.md:1 names npm run gone: there is no such script',
  ]);
});

test('a comment names files that exist, and no document from elsewhere', () => {
  const findings = (text: string): string[] =>
    commentFindings({ 'core/a.ts': text }, (name) => files.has(name)).map(formatFinding);
  assert.deepEqual(findings("// As core/limits.ts says.\nconst path = 'core/gone.ts';\n"), []);
  assert.deepEqual(findings('// See core/gone.ts.\n'), ['core/a.ts:1 names core/gone.ts, which does not exist']);
  assert.deepEqual(findings("// a.ts calls it, and gone.ts; src/index.ts is a project's.\n"), [
    'core/a.ts:1 names gone.ts, which does not exist',
  ]);
  assert.deepEqual(
    commentFindings({ 'postgres/migrations/000001_first.sql': '-- See core/gone.ts.\n' }, (name) => files.has(name)),
    [],
  );
  const [number, page] = [['spec', '2.7'].join(' '), ['design', 'md'].join('.')];
  assert.deepEqual(findings(`/** ${number} */\n// ${page}\n`), [
    'core/a.ts:1 names spec 2.7: name a page of docs/ instead',
    'core/a.ts:2 names design.md: name a page of docs/ instead',
  ]);
});
