// Variable files of a project.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readVariables } from '#cli/project/variables.ts';

test('quotes, comments, export and values over several lines are read; .dev.vars wins over .env', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'variables-'));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.deepEqual(readVariables(folder), {});
  writeFileSync(
    path.join(folder, '.env'),
    '# comment\nA=1 # one\nexport B="two words"\nC=\'it # stays\'\nKEY="line 1\nline 2"\nEMPTY=\n',
  );
  writeFileSync(path.join(folder, '.dev.vars'), 'A=2\n');
  assert.deepEqual(readVariables(folder), {
    A: '2',
    B: 'two words',
    C: 'it # stays',
    KEY: 'line 1\nline 2',
    EMPTY: '',
  });
});
