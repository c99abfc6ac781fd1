// What a message of a WebSocket that has not ended takes of an engine, frame by frame.
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createUpgrader } from '#runtime/engine/http/websocket.ts';
import type { HostMemory } from '#runtime/engine/bridge/host-memory.ts';
import type { ResponseHead } from '#runtime/engine/http/header-block.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const HANDSHAKE = [
  ['connection', 'upgrade'],
  ['upgrade', 'websocket'],
  ['sec-websocket-version', '13'],
  ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
]
  .map(([name, value]) => `${name}\0${value}\0`)
  .join('');

/** A frame, masked with zeros. */
function frame(opcode: number, isLast: boolean, content: string): Buffer {
  return Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | content.length, 0, 0, 0, 0, ...Buffer.from(content)]);
}
const [CONTINUED, BINARY, PONG] = [0, 2, 10];

test('frames of a message keep nothing of what came beside them, and each counts', async (t) => {
  const upgrader = createUpgrader({});
  t.after(() => upgrader.stop());
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  let counted = 0;
  const memory = {
    reserve: (bytes: number) => void (counted += bytes),
    release: (bytes: number) => void (counted -= bytes),
  } as unknown as HostMemory;
  const messages: Uint8Array[] = [];
  const events = { message: (data: Uint8Array) => messages.push(data), failed() {}, closed() {} };
  const head = { pairs: [] as string[] } as unknown as ResponseHead;
  upgrader.upgrade(
    HANDSHAKE,
    Object.assign(socket, { setTimeout() {}, setNoDelay() {} }),
    Buffer.alloc(0),
    head,
    events as never,
    memory,
  );
  const beside = Buffer.concat(Array<Buffer>(500).fill(frame(PONG, true, 'x'.repeat(120))));
  collect();
  const before = process.memoryUsage().arrayBuffers;
  for (let at = 0; at < 1000; at++) {
    socket.push(Buffer.concat([frame(at === 0 ? BINARY : CONTINUED, false, 'x'), beside]));
    await new Promise(setImmediate);
  }
  collect();
  assert.ok(process.memoryUsage().arrayBuffers - before < 5_000_000);
  assert.equal(counted, 257_000);
  socket.push(frame(CONTINUED, true, 'y'));
  await new Promise(setImmediate);
  assert.equal(Buffer.concat(messages).toString(), `${'x'.repeat(1000)}y`);
  assert.equal(counted, 0);
  socket.destroy();
});
