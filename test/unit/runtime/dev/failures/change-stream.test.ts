// The stream that tells pages of `platform dev` to load themselves again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChangeStream } from '#runtime/dev/failures/change-stream.ts';
import type { Exchange } from '#runtime/engine/http/listener.ts';

/** An exchange that keeps what is written, and says when it was ended. */
function listening(method = 'GET'): { exchange: Exchange; written: string[]; ended: () => boolean } {
  const written: string[] = [];
  let isEnded = false;
  const exchange = {
    method,
    onAbort: null,
    begin: (status: number) => void written.push(String(status)),
    write: (text: string) => written.push(text) > 0,
    end: () => void (isEnded = true),
  } as unknown as Exchange;
  return { exchange, written, ended: () => isEnded };
}

test('who listens is told the version at once and each later one, until it goes', () => {
  const changes = createChangeStream();
  const [first, gone] = [listening(), listening()];
  changes.serve(first.exchange);
  changes.serve(gone.exchange);
  const before = changes.version;
  gone.exchange.onAbort!();
  changes.advance();
  assert.notEqual(changes.version, before);
  assert.deepEqual(first.written, ['200', `retry: 500\ndata: ${before}\n\n`, `data: ${changes.version}\n\n`]);
  assert.equal(gone.written.length, 2);
  changes.close();
  assert.deepEqual([first.ended(), gone.ended()], [true, false]);
  assert.notEqual(createChangeStream().version, createChangeStream().version, 'a new run is another version');
});

test('of more than 64 listeners the oldest has to ask again, and HEAD is none', () => {
  const changes = createChangeStream();
  const all = Array.from({ length: 66 }, () => listening());
  for (const { exchange } of all) changes.serve(exchange);
  assert.deepEqual(
    all.map(({ ended }) => ended()).flatMap((isEnded, index) => (isEnded ? [index] : [])),
    [0, 1],
  );
  const head = listening('HEAD');
  changes.serve(head.exchange);
  assert.deepEqual([head.written, head.ended()], [['200'], true]);
});
