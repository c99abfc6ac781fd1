// Requests of projects while the lease of their service ends, by clocks that the test sets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { later, type Moment } from '#runtime/databases/protocol/lease-clock.ts';
import { HomeGuard } from '#runtime/databases/shard/home-guard.ts';

test('after a sleep of the machine no request begins and no answer leaves, until the project is served again', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now: Moment = { monotonic: 1_000_000, day: 1_800_000_000_000 };
  const seen: string[] = [];
  const deps = {
    isQuiet: () => true,
    close: (project: string | null) => seen.push(`closed ${project ?? 'all'}`),
    lapsed: () => seen.push('lapsed'),
  };
  const guard = new HomeGuard(deps, () => now);
  guard.lease(later(now, 8000));
  guard.serve('shop');
  assert.deepEqual([guard.admit('shop/main', false), guard.isValid], ['begins', true]);

  now = { monotonic: now.monotonic + 1, day: now.day + 60_000 };
  assert.deepEqual([guard.admit('shop/main', false), guard.isValid], ['elsewhere', false]);

  guard.lease(later(now, 8000));
  assert.deepEqual(seen, ['lapsed', 'closed all']);
  assert.deepEqual([guard.admit('shop/main', false), guard.isValid], ['elsewhere', true]);
  guard.serve('shop');
  assert.equal(guard.admit('shop/main', false), 'begins');
});
