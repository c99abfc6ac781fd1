// Loops of background work: a wake-up is never lost, a failed round is logged and repeated, and the end of the process
// ends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runRounds } from '#core/process/rounds.ts';
import { createWake, pause } from '#core/process/wake.ts';

const HOUR_MS = 3_600_000;

/** Runs rounds that only wake-ups begin. */
function loop(round: (count: number) => Promise<unknown>) {
  const stopping = new AbortController();
  const logged: string[] = [];
  let wake = (): void => {};
  let count = 0;
  let isListening = false;
  const log = { error: ((_: object, text: string) => void logged.push(text)) as never };
  const listen = async (look: () => void): Promise<() => Promise<void>> => {
    wake = look;
    isListening = true;
    return async () => void (isListening = false);
  };
  const rounds = { failure: 'Nothing done', pollMs: HOUR_MS, listen };
  const done = runRounds({ stopping: stopping.signal, log }, rounds, () => round((count += 1)));
  return {
    logged,
    done,
    wake: () => wake(),
    stop: () => stopping.abort(),
    get isListening() {
      return isListening;
    },
  };
}

test('a wake-up during a round begins another one', async () => {
  const seen: number[] = [];
  const { done, wake, stop } = loop(async (count) => {
    seen.push(count);
    if (count === 1) wake();
    else stop();
  });
  await done;
  assert.deepEqual(seen, [1, 2]);
});

test('a round that asks for another gets it at once', async () => {
  const seen: number[] = [];
  const { done, stop } = loop(async (count) => {
    seen.push(count);
    if (count === 3) stop();
    return true;
  });
  await done;
  assert.deepEqual(seen, [1, 2, 3]);
});

test('a failed round is logged, and the next wake-up begins another one', async () => {
  const running = loop(async (count) => {
    if (count === 2) return running.stop();
    running.wake();
    throw new Error('no database');
  });
  await running.done;
  assert.deepEqual(running.logged, ['Nothing done']);
  assert.equal(running.isListening, false);
});

test('a loop that cannot listen yet says so, and listens before its next round', async () => {
  const stopping = new AbortController();
  const logged: string[] = [];
  const log = { error: ((_: object, text: string) => void logged.push(text)) as never };
  let attempts = 0;
  const listen = async (): Promise<() => Promise<void>> => {
    attempts += 1;
    if (attempts === 1) throw new Error('no database');
    return async () => {};
  };
  await runRounds({ stopping: stopping.signal, log }, { failure: 'Nothing done', pollMs: 1, listen }, async () =>
    stopping.abort(),
  );
  assert.deepEqual(logged, ['Nothing done']);
  assert.equal(attempts, 2);
});

test('the end of the process ends a wait, and what fails then is not logged', async () => {
  const running = loop(async () => {
    running.stop();
    throw new Error('the database is closed');
  });
  await running.done;
  assert.deepEqual(running.logged, []);
});

test('a wake-up before a wait is remembered, once', async () => {
  const gone = new AbortController();
  const wake = createWake(gone.signal);
  wake.now();
  await wake.wait(HOUR_MS);
  const second = wake.wait(HOUR_MS);
  gone.abort();
  await second;
});

test('a pause ends with the signal, at once after it', async () => {
  const gone = new AbortController();
  const paused = pause(HOUR_MS, gone.signal);
  gone.abort();
  await paused;
  await pause(HOUR_MS, gone.signal);
});
