// An uncaught exception in an engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLastResort } from '#runtime/engine/process/uncaught-errors.ts';

function start(isSupervised: boolean) {
  const did: string[] = [];
  let overdue = (): void => {};
  const onError = createLastResort({
    isSupervised: () => isSupervised,
    askForReplacement: (reason) => void did.push(`ask: ${reason}`),
    log: (error) => void did.push(`log ${(error as Error).message}`),
    end: () => void did.push('end'),
    later: (callback) => (overdue = callback),
  });
  return { did, onError, overdue: () => overdue() };
}

test('a supervised engine asks once to be replaced and goes on, and ends when that does not happen', () => {
  const { did, onError, overdue } = start(true);
  onError(new Error('a'));
  onError(new Error('b'));
  assert.deepEqual(did, ['log a', 'ask: uncaught exception', 'log b']);
  overdue();
  assert.equal(did.at(-1), 'end');
});

test('one whose errors do not stop ends at once', () => {
  const { did, onError } = start(true);
  for (let i = 0; i < 10; i++) onError(new Error('a'));
  assert.ok(!did.includes('end'));
  onError(new Error('a'));
  assert.equal(did.at(-1), 'end');
});

test('one without a supervisor ends at once', () => {
  const { did, onError } = start(false);
  onError(new Error('a'));
  assert.deepEqual(did, ['log a', 'end']);
});
