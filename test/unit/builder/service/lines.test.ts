// What bytes of a command become in a build log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLineReader } from '#builder/service/log/lines.ts';

function linesOf(chunks: readonly (string | Uint8Array)[], charsMax = 20): string[] {
  const reader = createLineReader(charsMax, 0, (text) => text);
  const lines = chunks.flatMap((chunk) => reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
  return [...lines, ...reader.end()];
}

test('lines end at line ends, wherever chunks do', () => {
  assert.deepEqual(linesOf(['on', 'e\ntw', 'o\r', '\n', '\nthree']), ['one', 'two', '', 'three']);
});

test('invalid UTF-8 and characters parted by chunks become text', () => {
  const euro = Buffer.from('€');
  assert.deepEqual(linesOf([euro.subarray(0, 1), euro.subarray(1), Buffer.of(0xff, 0x0a)]), ['€\ufffd']);
});

test('cursor movements, titles, links and NUL are left out', () => {
  assert.deepEqual(linesOf(['a\u001b]0;title\u0007\u001b[2J\u001b[1;1H\u001b]8;;http://x\u0007b\0\u0008\u009b5A\n']), [
    'ab',
  ]);
});

test('colours are kept, and end with their line', () => {
  const [red, reset] = ['\u001b[31m', '\u001b[0m'];
  assert.deepEqual(linesOf([`${red}red${reset} and\n`, `\u001b[1;38;5;200mbold\n`, 'plain\n']), [
    `${red}red${reset} and`,
    `\u001b[1;38;5;200mbold${reset}`,
    'plain',
  ]);
});

test('colours are bounded, and do not count as text', () => {
  const [line] = linesOf([`${'\u001b[31mx\u001b[32m'.repeat(400)}\n`], 500);
  // oxlint-disable-next-line no-control-regex -- it is about them
  assert.equal(line!.replaceAll(/\u001b\[\d+m/g, ''), 'x'.repeat(400));
  assert.ok(line!.length <= 400 + 4096 + 4, `${line!.length} characters`);
  const [cut] = linesOf([`\u001b[31m${'x'.repeat(30)}\u001b[0m\n`]);
  assert.equal(cut, `\u001b[31m${'x'.repeat(20)}\u001b[0m ... (line cut)`);
});

test('a colour inside of another sequence, or of a secret, leaves neither', () => {
  assert.deepEqual(linesOf(['\u001b]0;ti\u001b[31mtle\u0007x\n']).join('').includes('\u001b'), false);
  const reader = createLineReader(40, 6, (text) => text.replaceAll('s3cret', '***'));
  assert.deepEqual(reader.push(Buffer.from('a s3\u001b[31mcret\u001b[0m b\n')), ['a *** b']);
});

test('progress that is written over itself is what it was in the end', () => {
  assert.deepEqual(linesOf(['10%\r50%\r', '100%\r\n', '\r\r\n']), ['100%', '']);
});

test('a line is cut at its bound, and what follows it is whole', () => {
  const [cut, next] = linesOf([...Array.from({ length: 100 }, () => 'x'.repeat(1000)), '\nnext\n']);
  assert.equal(cut, `${'x'.repeat(20)} ... (line cut)`);
  assert.equal(next, 'next');
});

test('a line without an end takes bounded memory, with progress in it too', () => {
  const reader = createLineReader(20, 0, (text) => text);
  for (let n = 0; n < 20_000; n++) reader.push(Buffer.from(`${n} of 20000 done\r`));
  assert.deepEqual([...reader.push(Buffer.from('ready\n'))], ['ready']);
});
