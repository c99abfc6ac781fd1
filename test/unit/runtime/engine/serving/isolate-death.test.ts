// What the deaths of isolates mean for their requests, the log and the counters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '#core/errors.ts';
import { failed } from '#runtime/engine/invocation/outcome.ts';
import { deathOf, endOfEvent } from '#runtime/engine/serving/isolate-death.ts';

test('one over its limit is out of memory, whoever found it', () => {
  const outcome = failed('memory_limit_exceeded', { limitMb: 128 });
  const found = new PlatformError('memory_limit_exceeded', { limitMb: 128 });
  for (const [reason, error] of [
    ['memory', null],
    ['aborted', null],
    ['fault', found],
  ] as const) {
    const death = deathOf(reason, error, 128);
    assert.deepEqual([death.outcome, death.countsAs], [outcome, 'isolatesOutOfMemory']);
    assert.equal(death.message.endsWith(' (at once)'), reason === 'aborted');
  }
});

test('code that cannot be ended counts as no fault of the platform', () => {
  const { outcome, countsAs } = deathOf('stuck', null, 128);
  assert.deepEqual([outcome, countsAs], [failed('isolate_replaced', { reason: 'its code could not be ended' }), null]);
});

test('an event has had its attempt when its isolate dies of what runs there', () => {
  assert.deepEqual(
    endOfEvent(deathOf('stuck', null, 128).outcome),
    failed('isolate_lost', { reason: 'its code could not be ended' }),
  );
  assert.deepEqual(endOfEvent(deathOf('memory', null, 128).outcome), failed('memory_limit_exceeded', { limitMb: 128 }));
});

test('a fault is told to the log alone, unless it says that the isolate was replaced', () => {
  const replaced = deathOf('fault', new PlatformError('isolate_replaced', { reason: 'evicted' }), 128);
  assert.deepEqual(
    [replaced.outcome, replaced.countsAs],
    [failed('isolate_replaced', { reason: 'evicted' }), 'isolatesFaulty'],
  );
  const lost = deathOf('fault', new Error('secret'), 128);
  assert.deepEqual([lost.outcome, lost.countsAs], [failed('internal'), 'isolatesFaulty']);
  assert.match(lost.message, /^Isolate faulted: Error: secret/);
});
