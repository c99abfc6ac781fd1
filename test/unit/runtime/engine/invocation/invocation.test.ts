// Latency of an invocation's response.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Invocation } from '#runtime/engine/invocation/invocation.ts';

const begun = () => new Invocation({ prefix: 'i', last: 0 }, 'http', {}, 100, 50);

test('a response sent whole at the end has the latency of the end', () => {
  const invocation = begun();
  assert.deepEqual([invocation.firstByteMs(130), invocation.answerMs(130)], [30, 30]);
});

test('work after a response does not count', () => {
  const invocation = Object.assign(begun(), { firstByteAt: 110, answeredAt: 120 });
  assert.deepEqual([invocation.firstByteMs(900), invocation.answerMs(900)], [10, 20]);
});

test('a client that left before a response has no latency', () => {
  const invocation = Object.assign(begun(), { isClientGone: true, status: 499 });
  assert.deepEqual([invocation.firstByteMs(130), invocation.answerMs(130)], [-1, -1]);
});

test('a WebSocket has a first byte, and no end of a response', () => {
  const invocation = Object.assign(begun(), { status: 101, firstByteAt: 105 });
  assert.deepEqual([invocation.firstByteMs(900), invocation.answerMs(900)], [5, -1]);
});
