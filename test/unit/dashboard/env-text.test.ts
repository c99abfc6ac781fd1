// The text of a .env file as the dashboard's import reads it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvText } from '#dashboard/src/pages/settings/env-text.ts';

const variables = (text: string) =>
  Object.fromEntries(readEnvText(text).variables.map(({ key, value }) => [key, value]));

test('names and values are read, quoted or not, over several lines, with comments', () => {
  assert.deepEqual(
    variables(
      [
        '\uFEFF# a comment',
        'PLAIN=one two # and why',
        'HASH=a#b',
        'EMPTY=',
        'export EXPORTED=yes',
        '  INDENTED = 1 ',
        'DOUBLE="line\\nbreak \\"quoted\\" # no comment" # one',
        "SINGLE='as\\nit is'",
        'KEY="-----BEGIN',
        'second line',
        'end-----"',
        'AFTER=1\r',
        'TWICE=a',
        'TWICE=b',
        'URL=postgres://u:p@h/db?x=1&y=2',
      ].join('\n'),
    ),
    {
      PLAIN: 'one two',
      HASH: 'a#b',
      EMPTY: '',
      EXPORTED: 'yes',
      INDENTED: '1',
      DOUBLE: 'line\nbreak "quoted" # no comment',
      SINGLE: 'as\\nit is',
      KEY: '-----BEGIN\nsecond line\nend-----',
      AFTER: '1',
      TWICE: 'b',
      URL: 'postgres://u:p@h/db?x=1&y=2',
    },
  );
});

test('lines that are no variable are named by their number, also behind a value of several lines', () => {
  assert.deepEqual(readEnvText('A=1\nwhat\n1B=2\nC="x\ny"\n- D=3\nE="open').problems, [
    { line: 2, reason: 'not NAME=value' },
    { line: 3, reason: 'not NAME=value' },
    { line: 6, reason: 'not NAME=value' },
    { line: 7, reason: 'E: missing closing quote' },
  ]);
});

test('any text is read in time that grows with its length', () => {
  let seed = 7;
  const letters = 'AB="\'`\\\n\r#= \t1é😀';
  for (let round = 0; round < 300; round++) {
    let text = '';
    for (let at = 0; at < 200; at++)
      text += letters[(seed = (seed * 1103515245 + 12345) & 0x7fffffff) % letters.length]!;
    for (const { key } of readEnvText(text).variables) assert.match(key, /^[A-Za-z_][A-Za-z0-9_]*$/);
  }
  assert.equal(readEnvText(`A=${' '.repeat(200_000)}`).variables.length, 1);
});
