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

test('a value that a # ends is told by its line, as dotenv cuts it too', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'variables-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    path.join(folder, '.env'),
    'A=plain # a comment\r\nCOLOR=#fff\r\nEMPTY= # a comment\r\nexport PASSWORD=ab#cd\r\nKEY="line 1\r\nB=x#y"\r\nQUOTED="a#b"\r\n# C=a#b\r\nSINGLE=\'a#b\' # c\r\nLAST=a#',
  );
  const told: string[] = [];
  assert.deepEqual(
    readVariables(folder, (text) => told.push(text)),
    {
      A: 'plain',
      COLOR: '',
      EMPTY: '',
      PASSWORD: 'ab',
      KEY: 'line 1\nB=x#y',
      QUOTED: 'a#b',
      SINGLE: 'a#b',
      LAST: 'a',
    },
  );
  assert.deepEqual(told, [
    '.env:2: the value of COLOR ends at "#", which starts a comment; quote the value to keep it: COLOR="..."',
    '.env:4: the value of PASSWORD ends at "#", which starts a comment; quote the value to keep it: PASSWORD="..."',
    '.env:10: the value of LAST ends at "#", which starts a comment; quote the value to keep it: LAST="..."',
  ]);
});

for (const encoding of ['utf8', 'utf16le'] as const) {
  test(`a file with the byte order mark of ${encoding} is read`, (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'variables-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(path.join(folder, '.env'), '\ufeffFIRST=größe\r\nSECOND=2\r\n', encoding);
    assert.deepEqual(readVariables(folder), { FIRST: 'größe', SECOND: '2' });
  });
}
