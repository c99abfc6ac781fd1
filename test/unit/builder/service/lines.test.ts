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

test('colours, cursor movements, titles and NUL are left out', () => {
  assert.deepEqual(linesOf(['\u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b[2Jx\0\u0008\n']), ['red x']);
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
