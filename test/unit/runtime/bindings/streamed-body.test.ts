import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { sendBody } from '#runtime/bindings/streamed-body.ts';
import type { HostCall } from '#runtime/bridge/host-calls.ts';

test('a body for which there is no stream left is closed', () => {
  const isolate = {
    openStream() {
      throw new Error('too many');
    },
  };
  const body = new Readable({ read() {} });
  assert.throws(() => sendBody({ isolate } as unknown as HostCall, body, 'It cannot be read'), { message: 'too many' });
  assert.equal(body.destroyed, true);
});
