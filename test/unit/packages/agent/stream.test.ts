// Streams of a model as providers send them, and as they should not: whole answers come out, or an error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnswer, type StreamedMessage } from '#packages/agent/stream.ts';

const text = (content: string, reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: reason }] })}\n\n`;

/** Reads a stream that comes in chunks of some bytes. */
function read(body: string, size = 1000, pieces: string[] = []): Promise<StreamedMessage> {
  const bytes = new TextEncoder().encode(body);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.slice(at * size, (at + 1) * size),
  );
  return readAnswer(ReadableStream.from(chunks) as ReadableStream<Uint8Array>, (piece) => void pieces.push(piece));
}

test('characters, lines and line ends may be cut anywhere', async () => {
  for (const end of ['\n', '\r\n', '\r'])
    for (const size of [1, 2, 3, 7]) {
      const pieces: string[] = [];
      const body = `: hello\n\n${text('né ')}${text('😀', 'stop')}data: [DONE]\n\n`.replaceAll('\n', end);
      assert.equal((await read(body, size, pieces)).content, 'né 😀');
      assert.deepEqual(pieces, ['né ', '😀']);
    }
});

test('calls are put together by their place', async () => {
  const piece = (index: number, call: object): string =>
    `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index, ...call }] } }] })}\n\n`;
  const body = [
    piece(0, { id: 'a', type: 'function', function: { name: 'x', arguments: '' }, extra: { sign: 1 } }),
    piece(1, { id: 'b', type: 'function', function: { name: 'y', arguments: '{}' } }),
    piece(0, { function: { arguments: '{"n"' } }),
    piece(0, { function: { arguments: ':1}' } }),
    text('', 'tool_calls'),
  ].join('');
  assert.deepEqual((await read(body)).tool_calls, [
    { id: 'a', type: 'function', extra: { sign: 1 }, function: { name: 'x', arguments: '{"n":1}' } },
    { id: 'b', type: 'function', function: { name: 'y', arguments: '{}' } },
  ]);
});

test('pieces of calls that do not say their place are put together by id, name and order', async () => {
  const piece = (call: object): string =>
    `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] })}\n\n`;
  const body = [
    piece({ id: 'a', type: 'function', function: { name: 'x', arguments: '{"n"' } }),
    piece({ function: { arguments: ':1}' } }),
    piece({ id: 'b', index: null, type: 'function', function: { name: 'x', arguments: '{}' } }),
    text('', 'tool_calls'),
  ].join('');
  assert.deepEqual((await read(body)).tool_calls, [
    { id: 'a', type: 'function', function: { name: 'x', arguments: '{"n":1}' } },
    { id: 'b', type: 'function', function: { name: 'x', arguments: '{}' } },
  ]);
});

test('half an answer, an error frame and nonsense are errors', async () => {
  await assert.rejects(read(text('half an')), /ended before the answer did/);
  await assert.rejects(read(`${text('a')}data: [DONE]\n\n`), /ended before the answer did/);
  await assert.rejects(read(`${text('a')}data: {"error":{"message":"gone"}}\n\n`), /^Error: gone$/);
  await assert.rejects(read('data: {"choi\n\n'), /invalid JSON/);
  await assert.rejects(read(text('x'.repeat(1_100_000), 'stop')), /too long/);
});
