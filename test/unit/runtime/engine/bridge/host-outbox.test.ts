// What the host puts into an entry: bytes as they may cross, and which of them are handed over.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { HostOutbox } from '#runtime/engine/bridge/host-outbox.ts';

const memory = new EngineMemory(defaultLimits).open('p/d');

const KB = 1024;

test('a view of a part of a buffer crosses as a copy of that part alone', () => {
  const outbox = new HostOutbox(memory);
  const buffer = new Uint8Array(64 * KB).fill(7);
  outbox.part(buffer.subarray(10, 20));
  outbox.part(Buffer.from('from the pool'));
  outbox.part(buffer);
  assert.deepEqual(
    outbox.bytes.map((part) => [part.byteLength, part.buffer.byteLength]),
    [
      [10, 10],
      [13, 13],
      [64 * KB, 64 * KB],
    ],
  );
  assert.deepEqual(
    [...outbox.bytes[0]!],
    Array.from({ length: 10 }, () => 7),
  );
  assert.equal(outbox.bytes[2], buffer);
});

test('of what is spent, whole buffers from 16 KB are handed over, in their order', () => {
  const outbox = new HostOutbox(memory);
  const [large, small, larger] = [new Uint8Array(16 * KB), new Uint8Array(16 * KB - 1), new Uint8Array(1000 * KB)];
  const part = new Uint8Array(100 * KB).subarray(1);
  const fields = [large, 'text', small, part, null, larger].map((spent) => outbox.spentPart(spent));
  assert.deepEqual(fields, ['b', 't4', 'b', 'b', '-', 'b']);
  assert.deepEqual(outbox.spent, [large, larger]);
  assert.equal(outbox.bytes.length, 4);
  assert.equal(outbox.text, 'text');
});

test('what is not said to be spent stays where it is', () => {
  const outbox = new HostOutbox(memory);
  outbox.part(new Uint8Array(1000 * KB));
  assert.equal(outbox.spent, null);
});
