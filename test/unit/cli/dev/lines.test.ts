// Output of dev servers as lines.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { portIn, toLines } from '#cli/dev/server/lines.ts';

test('lines come whole, without what clears the screen, and the last one without its end', async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  const stop = toLines(stream, (line) => lines.push(line));
  for (const part of ['\u001b[2J\u001b[3J\u001b[Hfir', 'st\r\n\u001b[32mgreen\u001b[0m\n', 'last']) stream.write(part);
  await new Promise((resolve) => setImmediate(resolve));
  stop();
  assert.deepEqual(lines, ['first', '\u001b[32mgreen\u001b[0m', 'last']);
});

test('a line without an end comes in parts', async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  toLines(stream, (line) => lines.push(line));
  stream.write('x'.repeat(100_001));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    lines.map(({ length }) => length),
    [100_001],
  );
});

test('the port that a line names is found, and no other number', () => {
  const cases: readonly (readonly [string, number | null])[] = [
    ['  \u001b[32m➜\u001b[39m  Local:   \u001b[36mhttp://localhost:\u001b[1m5173\u001b[22m/\u001b[39m', 5173],
    ['Server running at http://127.0.0.1:8080', 8080],
    ['Example app listening on port 3001', 3001],
    ['[::1] http://[::1]:4000/', 4000],
    ['GET https://example.com:8443/ 200', null],
    ['compiled 1200 modules in 3000 ms', null],
  ];
  for (const [line, port] of cases) assert.equal(portIn(line), port, line);
});
