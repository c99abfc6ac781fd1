// The rule about tables of kinds of bindings, on sources written down here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bindingFindings } from '#test/tidy/binding-rules.ts';
import { formatFinding } from '#test/tidy/findings.ts';

const table = "const words = {\n  db: 'Databases',\n  state: 'State',\n  fs: 'Files',\n  queue: 'Queues',\n};\n";

test('a table of kinds outside core/bindings/ is found, unless it is listed', () => {
  const sources = { 'cli/words.ts': table, 'core/bindings/kinds.ts': table, 'test/words.ts': table };
  assert.deepEqual(bindingFindings(sources, {}).map(formatFinding), [
    'cli/words.ts:2 lists kinds of bindings: iterate over core/bindings/kinds.ts',
  ]);
  assert.deepEqual(bindingFindings(sources, { 'cli/words.ts': 'a reason' }), []);
});

test('a file that names a few kinds has no table', () => {
  const text = "const stored = ['db', 'fs', 'state'];\n";
  assert.deepEqual(bindingFindings({ 'cli/words.ts': text }, {}), []);
});

test('a row of the list without a table is to be removed', () => {
  assert.deepEqual(bindingFindings({ 'cli/words.ts': '' }, { 'cli/words.ts': 'a reason' }).map(formatFinding), [
    'cli/words.ts lists no kinds of bindings: remove its row from binding-rules.ts',
  ]);
});
