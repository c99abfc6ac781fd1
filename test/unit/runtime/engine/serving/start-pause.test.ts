// A worker that uses up a budget while it is loaded waits longer each time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failed } from '#runtime/engine/invocation/outcome.ts';
import { StartPause } from '#runtime/engine/serving/start-pause.ts';

const breach = failed('startup_cpu_limit_exceeded', { limitMs: 200 });

test('each breach while loading doubles the pause, up to a minute, and requests meanwhile get the same answer', () => {
  const pause = new StartPause();
  assert.equal(pause.answer(0), null);
  pause.failed(breach, 0);
  assert.deepEqual(pause.answer(1), failed('startup_cpu_limit_exceeded', { limitMs: 200, retryAfterSeconds: 1 }));
  assert.equal(pause.answer(1000), null);
  pause.failed(breach, 1000);
  assert.equal(pause.answer(2999)?.details['retryAfterSeconds'], 1);
  assert.equal(pause.answer(3000), null);
  for (let i = 0; i < 20; i++) pause.failed(breach, 3000);
  assert.equal(pause.answer(3000)?.details['retryAfterSeconds'], 60);
});

test('a start that succeeds ends the pauses', () => {
  const pause = new StartPause();
  pause.failed(breach, 0);
  pause.failed(breach, 0);
  pause.started();
  assert.equal(pause.answer(0), null);
  pause.failed(breach, 0);
  assert.equal(pause.answer(0)?.details['retryAfterSeconds'], 1);
});

test('a worker that throws while it is loaded is tried again at once', () => {
  const pause = new StartPause();
  pause.failed(failed('worker_start_failed', { reason: 'fetch failed' }), 0);
  assert.equal(pause.answer(0), null);
});
