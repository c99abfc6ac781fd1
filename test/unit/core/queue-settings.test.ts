// What platform.yaml says of a queue: where its dead letters go, and when a message is tried again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLettersOf, retryDelayMs } from '#core/queue-settings.ts';

const limits = { retries: 3, backoffMs: 5000, backoffMsMax: 300_000 };
const never = (): number => 0;

test('dead letters go to the queue that is named, else to <queue>_dlq, and stay in a queue of dead letters', () => {
  const queues = { mail: { deadLetter: 'lost' }, orders: { maxRetries: 1 } };
  assert.equal(deadLettersOf(queues, 'mail'), 'lost');
  assert.equal(deadLettersOf(queues, 'orders'), 'orders_dlq');
  assert.equal(deadLettersOf(queues, 'other'), 'other_dlq');
  assert.equal(deadLettersOf(queues, 'lost'), null);
  assert.equal(deadLettersOf(queues, 'orders_dlq'), null);
  assert.equal(deadLettersOf(queues, 'constructor'), 'constructor_dlq');
});

test('a queue of its own retries and delay doubles the delay, up to the bound of the platform', () => {
  const own = { maxRetries: 8, retryDelayMs: 60_000 };
  assert.deepEqual(
    [1, 2, 3, 4, 8, 9].map((attempt) => retryDelayMs(own, limits, attempt, never)),
    [60_000, 120_000, 240_000, 300_000, 300_000, null],
  );
  assert.deepEqual(
    [1, 3, 4].map((attempt) => retryDelayMs({}, limits, attempt, never)),
    [5000, 20_000, null],
  );
  assert.equal(retryDelayMs({ maxRetries: 0 }, limits, 1, never), null);
  assert.equal(retryDelayMs({ retryDelayMs: 600_000 }, limits, 2, never), 600_000);
});
