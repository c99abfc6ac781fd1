// What the host puts into an entry: bytes as they may cross, and which of them are handed over.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { HostRecords } from '#runtime/engine/bridge/host-records.ts';

const memory = new EngineMemory(defaultLimits).open('p/d');

const KB = 1024;

test('a view of a part of a buffer crosses as a copy of that part alone', () => {
  const records = new HostRecords(memory);
  const buffer = new Uint8Array(64 * KB).fill(7);
  records.part(buffer.subarray(10, 20));
  records.part(Buffer.from('from the pool'));
  records.part(buffer);
  assert.deepEqual(
    records.bytes.map((part) => [part.byteLength, part.buffer.byteLength]),
    [
      [10, 10],
      [13, 13],
      [64 * KB, 64 * KB],
    ],
  );
  assert.deepEqual(
    [...records.bytes[0]!],
    Array.from({ length: 10 }, () => 7),
  );
  assert.equal(records.bytes[2], buffer);
});

test('of what may be transferred, whole buffers from 16 KB are handed over, in their order', () => {
  const records = new HostRecords(memory);
  const [large, small, larger] = [new Uint8Array(16 * KB), new Uint8Array(16 * KB - 1), new Uint8Array(1000 * KB)];
  const part = new Uint8Array(100 * KB).subarray(1);
  const fields = [large, 'text', small, part, null, larger].map((part) => records.transferredPart(part));
  assert.deepEqual(fields, ['b', 't4', 'b', 'b', '-', 'b']);
  assert.deepEqual(records.transferred, [large, larger]);
  assert.equal(records.bytes.length, 4);
  assert.equal(records.text, 'text');
});

test('what may not be transferred stays where it is', () => {
  const records = new HostRecords(memory);
  records.part(new Uint8Array(1000 * KB));
  assert.equal(records.transferred, null);
});
