// The rules about what nothing uses over small made-up trees.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportFindings, fileFindings } from '#test/tidy/use-rules.ts';
import { unusedRowFindings } from '#test/tidy/import-findings.ts';
import { unusedExceptionFindings } from '#test/tidy/source-rules.ts';
import type { Sources } from '#cli/tasks/tools/sources.ts';
import { formatFinding } from '#test/tidy/findings.ts';

const program = { 'package.json': '{"bin":{"platform":"cli/run.mjs"},"imports":{"#cli/*":"./cli/*"}}' };

function found(sources: Sources): string[] {
  const all = { ...program, ...sources };
  return [...exportFindings(all), ...fileFindings(all)].map(formatFinding);
}

test('an export that no other file imports is refused, in the product and in tests', () => {
  assert.deepEqual(
    found({
      'cli/run.mjs': "import { used } from './names.ts'; used();",
      'cli/names.ts': '// Names.\nexport function used() {}\nexport interface Hidden {}\n',
      'test/setup/names.ts': 'export const kept = 1;\nexport const left = 2;',
      'test/unit/names.test.ts': "import { kept } from '../setup/names.ts'; kept;",
    }),
    [
      'cli/names.ts:3 exports Hidden, which no other file imports: remove it, or the word export',
      'test/setup/names.ts:2 exports left, which no other file imports: remove it, or the word export',
    ],
  );
});

test('what a package publishes, and what is loaded by a name, needs no importer', () => {
  assert.deepEqual(
    found({
      'packages/worker/package.json': '{"exports":{".":"./index.ts"}}',
      'packages/worker/index.ts': 'export const app = 1;',
      'builder/node/events.ts': 'export const once = 1;',
    }),
    [],
  );
});

test('an export that only tests use is refused, unless its own file uses it', () => {
  assert.deepEqual(
    found({
      'cli/run.mjs': "import { used } from './names.ts'; used();",
      'cli/names.ts': 'export const part = () => 1;\nexport const used = () => part();\nexport const tested = 1;',
      'test/unit/names.test.ts': "import { part, tested } from '#cli/names.ts'; part; tested;",
    }),
    ['cli/names.ts:3 exports tested, which only tests use: remove it, or move it to test/setup/'],
  );
});

test('a file that no program and no test reaches is refused', () => {
  assert.deepEqual(
    found({
      'cli/run.mjs': 'const file = `./tasks/${name}.ts`; fork(join(import.meta.dirname, "../gateway/main.ts"));',
      'cli/tasks/pack.ts': 'spawn(join(import.meta.dirname, `../build${extname}`));',
      'cli/build.ts': '// `node cli/icons.ts` makes the icons.',
      'cli/icons.ts': 'const [first, ...others] = [".", ".."];',
      'cli/left.ts': "import './also-left.ts';",
      'cli/also-left.ts': '',
      'cli/tried.ts': '',
      'gateway/main.ts': '// See left.ts.',
      'test/unit/tried.test.ts': "import '#cli/tried.ts';",
      'test/setup/left.ts': '',
    }),
    [
      'cli/left.ts is reached from no program and no test: remove it',
      'cli/also-left.ts is reached from no program and no test: remove it',
      'cli/tried.ts is reached from tests alone: remove it, or move it to test/',
      'test/setup/left.ts is reached from no program and no test: remove it',
    ],
  );
});

test('a row of the table of imports that no import needs, and an exception without its file, are refused', () => {
  const rows = unusedRowFindings({ 'git/host.ts': "import type { Sql } from '#postgres/sql.ts';" }).map(formatFinding);
  assert.ok(rows.includes('test/tidy/import-rules.ts has a row for gateway/, where no file is'));
  assert.ok(
    rows.includes('test/tidy/import-rules.ts lets cli/tasks/ import web/, which it does not: remove that') &&
      !rows.some((row) => row.includes('lets git/ import postgres/')),
    rows.join('\n'),
  );
  assert.ok(
    rows.includes('test/tidy/library-rules.ts gives pg a home in postgres/, where nothing imports it: remove that'),
  );
  assert.ok(
    unusedExceptionFindings({})
      .map(formatFinding)
      .includes('test/tidy/source-rules.ts excepts core/typebox/typebox.mjs, which does not exist: remove that'),
  );
});
