// Text of others on the user's terminal.
/* oxlint-disable no-control-regex -- control characters are what it is about */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain } from '#cli/terminal/plain.ts';
import { printTable } from '#cli/terminal/table.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { recordingShell } from '../recording-shell.ts';

test('nothing that a terminal obeys passes, but colours where they are wanted', () => {
  assert.equal(plain('\u001b[2J\u001b[1;1Hgone\u0007'), 'gone');
  assert.equal(plain('\u001b]0;title\u0007\u001b]8;;https://evil\u001b\\link\u001b]8;;\u001b\\'), 'link');
  assert.equal(plain('\u001b[31mred\u001b[0m'), 'red');
  assert.equal(plain('\u001b[31mred\u001b[0m', true), '\u001b[31mred\u001b[0m');
  assert.equal(plain('\u001b[31mred', true), '\u001b[31mred\u001b[0m');
  assert.equal(plain('a\rb\u009b2Jc\u202edcba'), 'abcdcba');
  assert.equal(plain('lines\r\nstay\tso'), 'lines\nstay\tso');
  assert.equal(plain('\u001b'), '');
});

test('no text leaves a control character, however it is put together', () => {
  const random = createSeededRandom();
  const { seed } = random;
  const parts = [
    '\u001b',
    '[',
    ']',
    '0;',
    '31',
    'm',
    'J',
    '\u0007',
    '\\',
    '\u009b',
    'a',
    '\n',
    '\r',
    '\u0000',
    'P',
    '^',
    ' ',
    '?',
    '\u007f',
    '\u202e',
  ];
  for (let round = 0; round < Number(process.env['PLAIN_ROUNDS'] ?? 3000); round++) {
    const text = random.text(parts, 12);
    assert.doesNotMatch(
      plain(text),
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/,
      `seed ${seed}: ${JSON.stringify(text)}`,
    );
    const coloured = plain(text, true).replace(/\u001b\[[\d;:]*m/g, '');
    assert.doesNotMatch(
      coloured,
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/,
      `seed ${seed}: ${JSON.stringify(text)}`,
    );
  }
});

test('a table has columns on a terminal, and tabs elsewhere', () => {
  const table = {
    columns: ['name', 'size'],
    rows: [
      ['a\tb\u001b[2J', 1],
      ['long name', null],
    ] as const,
    empty: 'None',
  };
  const piped = recordingShell('/');
  printTable(piped, table);
  assert.deepEqual(piped.output, ['a b\t1', 'long name\t-']);
  const terminal = recordingShell('/', {}, { isTerminal: true });
  printTable(terminal, table);
  assert.deepEqual(terminal.output, ['NAME       SIZE', 'a b        1', 'long name  -']);
  printTable(terminal, { ...table, rows: [] });
  printTable(piped, { ...table, rows: [] });
  assert.deepEqual([terminal.output.at(-1), piped.output.length], ['None', 2]);
});
