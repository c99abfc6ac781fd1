// A line on its way to the user's terminal: what of it is the program's, and what is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coloured, continued, marked, ownLines, printed, shownParts } from '#cli/terminal/printed.ts';

test('no control character of others passes, and it can be seen', () => {
  assert.equal(
    printed('a\u001b[2Jb\u0007\u009b2J\rc\u202ed\u2028e'),
    'a\\u001b[2Jb\\u0007\\u009b2J\\u000dc\\u202ed\\u2028e',
  );
});

test('colours pass where the program has put them', () => {
  assert.equal(
    printed(`${marked('\u001b[32mok\u001b[39m')} \u001b[31mforged`),
    '\u001b[32mok\u001b[39m \\u001b[31mforged',
  );
  assert.equal(printed(coloured('\u001b[31mred\u001b[2J', true)), '\u001b[31mred\u001b[0m');
  assert.equal(printed(coloured('\u001b[31mred', false)), 'red');
});

test('a line of others begins where none of the program can', () => {
  assert.equal(printed('said: one\r\ntwo\nthree'), 'said: one\n  | two\n  | three');
  assert.equal(printed(ownLines('first\nsecond')), 'first\nsecond');
  assert.equal(printed(ownLines(`error ${continued('one\ntwo')}`)), 'error one\n  | two');
});

test('JSON is the same text afterwards', () => {
  const value = { text: 'a\u0000\u001b[2J\u007f\u009b\u202e\u2028\n"\\' };
  const line = printed(JSON.stringify(value));
  assert.deepEqual(JSON.parse(line), value);
  assert.match(line, /^[\x20-\x7e]+$/);
});

test('a file on a terminal shows its control characters, elsewhere it is as it is', async () => {
  const bytes = [Buffer.from('a\r\n\u001b[2'), Buffer.from('Jü').subarray(0, 2), Buffer.from('ü').subarray(1)];
  const shown = async (isTerminal: boolean) => {
    const parts: Buffer[] = [];
    for await (const part of shownParts(from(bytes), isTerminal)) parts.push(Buffer.from(part));
    return Buffer.concat(parts).toString();
  };
  assert.equal(await shown(true), 'a\n\\u001b[2Jü');
  assert.equal(await shown(false), 'a\r\n\u001b[2Jü');
});

async function* from(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
