import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { sendBody } from '#runtime/engine/bindings/streamed-body.ts';
import type { HostCall } from '#runtime/engine/bridge/host-calls.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';

test('a body for which there is no stream left is closed, and holds no memory', async () => {
  const memory = new EngineMemory({ hostMemoryMb: 1, engineHostMemoryMb: 1 }).open('shop/d000000000001');
  const isolate = {
    memory,
    openStream() {
      throw new Error('too many');
    },
  };
  const body = new Readable({ read() {} });
  assert.throws(() => sendBody({ isolate } as unknown as HostCall, body, 'It cannot be read'), { message: 'too many' });
  assert.equal(body.destroyed, true);
  await once(body, 'close');
  assert.equal(memory.bytes, 0);
});
