// Lines on a terminal: text of the program differs from untrusted text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coloured, continued, marked, ownLines, printed, shownParts } from '#cli/terminal/printed.ts';

test('control characters of untrusted text are escaped', () => {
  assert.equal(
    printed('a\u001b[2Jb\u0007\u009b2J\rc\u202ed\u2028e'),
    'a\\u001b[2Jb\\u0007\\u009b2J\\u000dc\\u202ed\\u2028e',
  );
});

test('colours of the program are kept, those of untrusted text are escaped', () => {
  assert.equal(
    printed(`${marked('\u001b[32mok\u001b[39m')} \u001b[31mforged`),
    '\u001b[32mok\u001b[39m \\u001b[31mforged',
  );
  assert.equal(printed(coloured('\u001b[31mred\u001b[2J', true)), '\u001b[31mred\u001b[0m');
  assert.equal(printed(coloured('\u001b[31mred', false)), 'red');
});

test('lines of untrusted text after the first are marked, lines of the program are not', () => {
  assert.equal(printed('said: one\r\ntwo\nthree'), 'said: one\n  | two\n  | three');
  assert.equal(printed(ownLines('first\nsecond\r\nthird')), 'first\nsecond\nthird');
  assert.equal(printed(ownLines(`error ${continued('one\ntwo')}`)), 'error one\n  | two');
});

test('JSON parses to the same value', () => {
  const value = { text: 'a\u0000\u001b[2J\u007f\u009b\u202e\u2028\n"\\' };
  const line = printed(JSON.stringify(value));
  assert.deepEqual(JSON.parse(line), value);
  assert.match(line, /^[\x20-\x7e]+$/);
});

test('control characters of a file are escaped on a terminal only', async () => {
  const bytes = [
    Buffer.from('a\r'),
    Buffer.from('\n\u001b[2'),
    Buffer.from('Jü').subarray(0, 2),
    Buffer.from('ü').subarray(1),
    Buffer.from('\r'),
  ];
  const shown = async (isTerminal: boolean) => {
    const parts: Buffer[] = [];
    for await (const part of shownParts(from(bytes), isTerminal)) parts.push(Buffer.from(part));
    return Buffer.concat(parts).toString();
  };
  assert.equal(await shown(true), 'a\n\\u001b[2Jü\\u000d');
  assert.equal(await shown(false), 'a\r\n\u001b[2Jü\r');
});

async function* from(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
