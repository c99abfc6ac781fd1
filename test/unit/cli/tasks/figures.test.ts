// The figures of small made-up trees, and the command on a folder.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { run } from '#cli/tasks/check.ts';
import { bannedWords, formatFigures, sourceFigures } from '#cli/tasks/figures.ts';
import type { Sources } from '#cli/tasks/tools/sources.ts';

/** The value of a figure, followed by what it counts. */
function figure(name: string, sources: Sources, glossary = ''): (string | number)[] {
  const found = sourceFigures(sources, bannedWords(glossary)).find((one) => one.name.trim() === name);
  return found === undefined ? [] : [found.value, ...found.list];
}

test('source files are our modules and native sources; tests and bench are counted apart', () => {
  const sources = {
    'core/a.ts': '',
    'runtime/engine/isolates/native/guest.cc': '',
    'cli/run.mjs': '',
    'test/unit/a.test.ts': '',
    'bench/hello.bench.ts': '',
    'examples/shop/index.ts': '',
    'test/fixtures/app/index.ts': '',
    'README.md': '',
  };
  assert.deepEqual(figure('source files', sources), [
    3,
    'core/a.ts',
    'runtime/engine/isolates/native/guest.cc',
    'cli/run.mjs',
  ]);
  assert.deepEqual(figure('source files of tests and bench', sources), [
    2,
    'test/unit/a.test.ts',
    'bench/hello.bench.ts',
  ]);
  assert.deepEqual(figure('folders with sources', sources), [3, 'core', 'runtime/engine/isolates/native', 'cli']);
});

test('a file beside the entry of a process or of a top-level folder is loose, and only there', () => {
  const sources = {
    'runtime/README.md': '',
    'runtime/serving.ts': '',
    'runtime/engine/main.ts': '',
    'runtime/engine/handler.ts': '',
    'runtime/engine/engine.ts': '',
    'runtime/engine/lane.ts': '',
    'runtime/supervisor/supervisor.ts': '',
    'runtime/stores/queue.ts': '',
    'cli/run.mjs': '',
    'cli/lock.ts': '',
    'cli/commands/deploy.ts': '',
    'builder/package.json': '{}',
    'core/errors.ts': '',
  };
  assert.deepEqual(figure('loose files', sources), [3, 'runtime/serving.ts', 'runtime/engine/lane.ts', 'cli/lock.ts']);
  assert.deepEqual(figure('in runtime/engine/', sources), [1, 'runtime/engine/lane.ts']);
});

test('the longest source files stand with their lines, the longest first', () => {
  const sources = { 'core/a.ts': 'a\nb\n', 'core/b.ts': 'a\nb\nc', 'core/c.md': 'a\nb\nc\nd' };
  assert.deepEqual(figure('longest source files, lines', sources), [3]);
  assert.deepEqual(figure('core/b.ts', sources), [3]);
  assert.deepEqual(figure('core/a.ts', sources), [2]);
  assert.deepEqual(figure('core/c.md', sources), []);
});

test('arrows and cycles leave out tests and bench, and a cycle of types alone is counted apart', () => {
  const sources = {
    'core/a.ts': "import { b } from './b.ts';",
    'core/b.ts': "import type { A } from './a.ts';",
    'cli/c.ts': "import '#core/a.ts'; import './d.ts';",
    'cli/d.ts': "import './c.ts';",
    'core/e.ts': "import type { C } from '#cli/c.ts';",
    'test/f.test.ts': "import '#core/a.ts';",
  };
  assert.deepEqual(figure('import arrows between folders', sources), [2, 'cli -> core', 'core -> cli']);
  assert.deepEqual(figure('of values', sources), [1, 'cli -> core']);
  assert.deepEqual(figure('pairs of folders that import each other', sources), [1, 'cli -> core']);
  assert.deepEqual(figure('import cycles of values', sources), [1, 'cli/c.ts -> cli/d.ts -> cli/c.ts']);
  assert.deepEqual(figure('import cycles with those of types', sources), [
    2,
    'cli/c.ts -> cli/d.ts -> cli/c.ts',
    'core/a.ts -> core/b.ts -> core/a.ts',
  ]);
});

test('an export is used by the program, by tests alone, or by nobody; what a package offers is not judged', () => {
  const sources = {
    'core/a.ts': 'export const used = 1, tested = 2, unused = 3;',
    'core/b.ts': "import { used } from './a.ts';",
    'test/a.test.ts': "import { tested } from '#core/a.ts'; import './setup.ts';",
    'test/setup.ts': 'export const left = 1;',
    'packages/worker/package.json': '{ "exports": { ".": "./index.ts" } }',
    'packages/worker/index.ts': 'export const app = 1;',
    'packages/worker/deep.ts': "import './index.ts';",
    'builder/node/fs.ts': 'export const readFile = 1;',
    'builder/node/promises.ts': "import './files.ts';",
  };
  assert.deepEqual(figure('exports never imported', sources), [1, 'core/a.ts unused']);
  assert.deepEqual(figure('exports that tests and bench alone import', sources), [1, 'core/a.ts tested']);
  assert.deepEqual(figure('exports of tests and bench never imported', sources), [1, 'test/setup.ts left']);
});

test('a part is a part of the engine, a folder of runtime/, or a top-level folder; a loose file of runtime/ is one', () => {
  const sources = {
    'runtime/engine/http/uws/exchange.ts': "import '../../router/table.ts'; import '#core/a.ts';",
    'runtime/engine/router/table.ts': '',
    'runtime/broker/work/queue.ts': "import '../main.ts'; import '#core/deep/b.ts';",
    'runtime/broker/main.ts': "import '../log.ts';",
    'runtime/log.ts': '',
    'core/a.ts': '',
    'core/deep/b.ts': '',
    'test/a.test.ts': "import '#core/a.ts';",
  };
  assert.deepEqual(figure('parts of the program', sources), [
    5,
    'core',
    'runtime/broker',
    'runtime/engine/http',
    'runtime/engine/router',
    'runtime/log.ts',
  ]);
  assert.deepEqual(figure('import arrows between parts', sources), [
    4,
    'runtime/broker -> core',
    'runtime/broker -> runtime/log.ts',
    'runtime/engine/http -> core',
    'runtime/engine/http -> runtime/engine/router',
  ]);
});

const glossary = [
  '# Glossary',
  '| `lane` | not of this table |',
  '## Words we do not use',
  '| Word | Instead |',
  '| --- | --- |',
  '| `\\bfrob(?:s\\|bed)\\b` | turn |',
  '| `doIt` | flush |',
  '## After',
  '| `isolate` | not of this table |',
].join('\n');

test('the banned words are the first column of their table in the glossary', () => {
  assert.deepEqual(
    bannedWords(glossary).map(({ pattern, instead }) => [String(pattern), instead]),
    [
      ['/\\bfrob(?:s|bed)\\b/gi', 'turn'],
      ['/doIt/gi', 'flush'],
    ],
  );
});

test('every occurrence of a banned word counts, in sources and Markdown, but for the glossary itself', () => {
  const sources = {
    'core/a.ts': 'const frobbed = 1; // Frobbed\nbatch.doIt();',
    'docs/queues.md': 'lane\nfrobs it',
    'docs/glossary.md': glossary,
    'core/schema.json': 'frobs',
  };
  assert.deepEqual(figure('banned words', sources, glossary), [
    4,
    'core/a.ts:1 frobbed',
    'core/a.ts:1 Frobbed',
    'core/a.ts:2 doIt',
    'docs/queues.md:2 frobs',
  ]);
  assert.deepEqual(figure('banned words', sources), ['no list']);
});

test('lines over 120 columns are found, but for tables, addresses and printed output in Markdown', () => {
  const [fits, long] = ['x'.repeat(120), 'x'.repeat(121)];
  const sources = {
    'core/a.ts': `${fits}\n${long}\n// https://example.com/${long}`,
    'README.md': [
      fits,
      long,
      `| ${long} |`,
      `https://a.test/${long}`,
      '```',
      long,
      '```',
      '```ts',
      long,
      '```',
      long,
    ].join('\n'),
  };
  assert.deepEqual(figure('lines over 120 columns in sources', sources), [2, 'core/a.ts:2', 'core/a.ts:3']);
  assert.deepEqual(figure('lines over 120 columns in Markdown', sources), [
    3,
    'README.md:2',
    'README.md:9',
    'README.md:11',
  ]);
});

test('the table has one line a figure, and with a list what each counts below it', () => {
  const figures = [
    { name: 'source files', value: 2, list: ['core/a.ts', 'core/b.ts'] },
    { name: 'time of npm test', value: 'not run here', list: [] },
  ];
  const note = 'Imports: static, dynamic and of types among our own modules, without those of test/ and bench/.\n';
  const table = 'source files           2\ntime of npm test  not run here\n';
  assert.equal(formatFigures(figures, false), table + note);
  assert.equal(formatFigures(figures, true), `${table}${note}\nsource files\n  core/a.ts\n  core/b.ts\n`);
});

test('`npm run check -- --figures folder` prints the figures and times of another checkout', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'figures-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'core'));
  mkdirSync(path.join(folder, 'node_modules/.cache'), { recursive: true });
  writeFileSync(path.join(folder, 'core/a.ts'), 'export const a = 1;\n');
  writeFileSync(path.join(folder, 'node_modules/ignored.ts'), 'export const b = 1;\n');
  const time = { seconds: 143.2, date: '2026-11-23 04:00', commit: 'abc1234', machine: '2 x Some CPU' };
  writeFileSync(path.join(folder, 'node_modules/.cache/times.json'), JSON.stringify({ 'npm test': time }));
  let printed = '';
  const write = t.mock.method(process.stdout, 'write', (text: string) => ((printed += text), true));
  assert.equal(await run(['--figures', folder]), 0);
  write.mock.restore();
  assert.match(printed, /^source files +1$/m);
  assert.match(printed, /^ {2}core\/a\.ts +1$/m);
  assert.match(printed, /^time of npm test +143\.2 s \(2026-11-23 04:00, abc1234, 2 x Some CPU\)$/m);
  assert.match(printed, /^time of \.ci\/run +not run here$/m);
});

test('lines of product are counted without tests, and their comments apart', () => {
  const sources = {
    'core/a.ts': '// What it is.\nexport const a = 1;\n',
    'test/unit/a.test.ts': 'test();\n',
    'docs/a.md': '# One two\n\nthree',
    'docs/decisions/1.md': 'four',
  };
  assert.deepEqual(figure('lines of product', sources), [2]);
  assert.deepEqual(figure('of them comments', sources), [1]);
  assert.deepEqual(figure('words of docs', sources), [4]);
  assert.deepEqual(figure('words of decisions', sources), [1]);
});

test('error classes and the longest functions are named', () => {
  const sources = {
    'core/a.ts': 'export class Refusal extends Error {}\nexport function start() {\n  return () => {\n  };\n}\n',
    'core/b.ts': 'export class Other extends Refusal {}\nconst end = () => 1;\n',
  };
  assert.deepEqual(figure('error classes', sources), [1, 'core/a.ts Refusal']);
  assert.deepEqual(figure('longest function, lines', sources), [
    4,
    '4 core/a.ts:2 start',
    '2 core/a.ts:3 anonymous',
    '1 core/b.ts:2 end',
  ]);
});
