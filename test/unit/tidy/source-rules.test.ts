// The rules about single files over made-up sources.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFindings } from '#test/tidy/source-rules.ts';
import type { Sources } from '#cli/tasks/tools/sources.ts';
import { formatFinding } from '#test/tidy/findings.ts';

function found(sources: Sources): string[] {
  return sourceFindings(sources).map(formatFinding);
}

test('a file name holds no drawer words and is kebab-case', () => {
  assert.deepEqual(
    found({
      'core/string-utils.ts': '// x\n',
      'core/Names.ts': '// x\n',
      'core/database.ts': '// x\n',
      'core/form-data.ts': '// x\n',
    }),
    [
      'core/string-utils.ts has "utils" in its name: name the thing it makes or holds',
      'core/Names.ts is not named in kebab-case',
    ],
  );
});

test('components of pages are judged like any other module', () => {
  assert.deepEqual(found({ 'dashboard/src/List.tsx': '// x\n' }), [
    'dashboard/src/List.tsx is not named in kebab-case',
  ]);
});

test('comments end at column 120, and a doc comment has lines of its own', () => {
  assert.deepEqual(found({ 'core/a.ts': `// ${'x'.repeat(118)}\n/** A limit. */ export const LIMIT = 1;\n` }), [
    `core/a.ts:1 has a comment beyond column 120: // ${'x'.repeat(118)}`,
    'core/a.ts:2 has a doc comment and code on one line: /** A limit. */ export const LIMIT = 1;',
  ]);
  assert.deepEqual(found({ 'core/a.ts': `// ${'x'.repeat(117)}\n/** A limit. */\nexport const LIMIT = 1;\n` }), []);
});

test('a fixed number of a module is in upper case', () => {
  assert.deepEqual(found({ 'core/a.ts': '// x\nconst sizeMax = 10;\nconst SIZE = 1;\nconst half = SIZE / 2;\n' }), [
    'core/a.ts:2 writes a fixed number in lower case: const sizeMax = 10;',
  ]);
});

test('the folder of a process holds its entry and folders', () => {
  assert.deepEqual(
    found({
      'runtime/log.ts': '// x\n',
      'runtime/engine/main.ts': '// x\n',
      'runtime/engine/lane.ts': '// x\n',
      'cli/run.mjs': '// x\n',
    }),
    [
      'runtime/log.ts lies at the root of a process: only folders may, put it into a folder',
      'runtime/engine/lane.ts lies at the root of a process: only main, handler may, put it into a folder',
    ],
  );
});

test('a source file opens with a comment, after a hash-bang if it has one', () => {
  assert.deepEqual(
    found({
      'core/a.ts': 'export {};\n',
      'cli/a/b.mjs': '#!/usr/bin/env node\n// b\n',
      'core/c.ts': '/** c */\n',
      'test/d.test.ts': 'assert;\n',
    }),
    ['core/a.ts:1 does not open with a comment that says what it is'],
  );
});

test('a file of more than a thousand lines is to be split', () => {
  assert.deepEqual(found({ 'core/long.ts': '// x\n'.repeat(1000), 'core/short.ts': '// x\n'.repeat(999) }), [
    'core/long.ts has 1001 lines (1000 allowed): split it by concept',
  ]);
});

test('something to do names its issue', () => {
  const todo = 'TO' + 'DO';
  assert.deepEqual(found({ 'core/a.ts': `// ${todo} later\n`, 'core/b.ts': `// ${todo} #12 later\n` }), [
    `core/a.ts:1 leaves something to do without the number of its issue (#12): // ${todo}`,
  ]);
});

test('paths of one machine and package hosts appear nowhere', () => {
  const home = '/' + 'home/ann/x';
  const host = 'registry.' + 'npmjs.org';
  assert.deepEqual(
    found({
      'README.md': `see ${home}\n`,
      'docs/a.md': `${host}\n`,
      'docs/b.md': 'the route /work is fine, /tmp too\n',
    }),
    ['README.md:1 names a path of one machine: /' + 'home/ann', `docs/a.md:1 names a path of one machine: ${host}`],
  );
});

test('no closure of the runtime goes to a property where it is made', () => {
  const source = (line: string): string => `// x\n  ${line}\n`;
  assert.deepEqual(
    found({
      'runtime/a/a.ts': source('exchange.onAbort = () => stop();'),
      'runtime/a/b.ts': source('const onAbort = (): void => stop();\nexchange.onAbort = onAbort;'),
      'runtime/a/c.ts': source('this.#incoming.onSpliced = async (how: string): Promise<void> => stop(how);'),
      'cli/a/d.ts': source('exchange.onAbort = () => stop();'),
      'runtime/a/once.ts': '// x\nremoval.onAbort = () => stop();\n',
    }),
    [
      'runtime/a/a.ts:2 makes a closure in the old generation, with all that it holds (docs/decisions/53-closures-of-a-request.md): give it a name first: .onAbort = () =>',
      'runtime/a/c.ts:2 makes a closure in the old generation, with all that it holds (docs/decisions/53-closures-of-a-request.md): give it a name first: .onSpliced = async (how: string): Promise<void> =>',
    ],
  );
});

test('a lockfile names no package host', () => {
  assert.deepEqual(
    found({ 'package-lock.json': '{\n"resolved": "https://example.com/a.tgz",\n"funding": "https://example.com"\n}' }),
    [
      'package-lock.json:2 names a package host: install with the .npmrc of the repository: "resolved": "https://example.com/a.tgz"',
    ],
  );
});

test('a file that hands an implementation to a contract suite need not assert itself', () => {
  assert.deepEqual(found({ 'test/contract/x-y.test.ts': "// x\nimport { suite } from './x.ts';\nsuite(1);\n" }), []);
});

test('a test file asserts something and leaves no test out', () => {
  assert.deepEqual(
    found({
      'test/a.test.ts': '// a\ntest("x", () => {});\n',
      'test/b.test.ts': '// b\ntest.' + 'only("x", () => assert.ok(1));\n',
    }),
    ['test/a.test.ts asserts nothing', 'test/b.test.ts:2 runs only a part of its tests: test.' + 'only('],
  );
});

test('migrations are numbered 1, 2, 3...', () => {
  const migrations = (...names: string[]): string[] =>
    found(Object.fromEntries(names.map((name) => [`postgres/migrations/${name}`, '-- x\n'])));
  assert.deepEqual(migrations('000001_first.sql', '000002_second.sql', 'README.md'), []);
  assert.deepEqual(migrations('000001_first.sql', '000002_alerts.sql', '000002_drains.sql'), [
    'postgres/migrations/000002_drains.sql is not numbered 1, 2, 3...: call it 000003_<words>.sql',
  ]);
  assert.deepEqual(migrations('000001_first.sql', '000003_third.sql'), [
    'postgres/migrations/000003_third.sql is not numbered 1, 2, 3...: call it 000002_<words>.sql',
  ]);
  assert.deepEqual(migrations('000001_First.sql'), [
    'postgres/migrations/000001_First.sql is not numbered 1, 2, 3...: call it 000001_<words>.sql',
  ]);
});
