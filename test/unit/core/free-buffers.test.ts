import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeBuffer } from '#core/free-buffers.ts';

test('a large chunk with memory of its own is freed', () => {
  const chunk = new Uint8Array(64 * 1024);
  freeBuffer(chunk);
  assert.equal(chunk.byteLength, 0);
});

test('a small chunk, a part of a buffer and shared memory stay', () => {
  const small = new Uint8Array(1024);
  const part = new Uint8Array(new ArrayBuffer(128 * 1024), 0, 64 * 1024);
  const shared = new Uint8Array(new SharedArrayBuffer(64 * 1024));
  for (const chunk of [small, part, shared]) freeBuffer(chunk);
  assert.deepEqual([small.byteLength, part.byteLength, shared.byteLength], [1024, 64 * 1024, 64 * 1024]);
});
