import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Quarantine } from '#runtime/supervisor/quarantine/quarantine.ts';

const policy = { backoffMs: 1000, backoffMsMax: 60_000, probationMs: 60_000, requestsMin: 3, ledgerMs: 86_400_000 };
const create = (): Quarantine => new Quarantine(policy, new Map(), 0);
const death = (blamed: string | null, at: number, running: string[] = []) => ({
  blamed,
  organization: null,
  running,
  at,
});
const noLink = (): null => null;

test('after one death a deployment is paused until everybody serves again, and then comes back', () => {
  const quarantine = create();
  assert.deepEqual(quarantine.onDeath(death('a/d1', 5000), null), ['a/d1']);
  assert.deepEqual(quarantine.list(noLink), [
    { deployment: 'a/d1', strikes: 1, until: 6000, link: null, returns: true },
  ]);
  assert.equal(quarantine.nextPauseEnd, 6000);
  assert.deepEqual(quarantine.pass(5999, true), []);
  assert.deepEqual(quarantine.pass(6000, false), []);
  assert.deepEqual(quarantine.pass(6500, true), ['a/d1']);
  assert.deepEqual(quarantine.list(noLink), []);
});

test('a pause ends after a minute even when engines are still missing', () => {
  const quarantine = create();
  quarantine.onDeath(death('a/d1', 0), null);
  assert.deepEqual(quarantine.pass(60_999, false), []);
  assert.deepEqual(quarantine.pass(61_000, false), ['a/d1']);
});

test('after two it is quarantined, with pauses that double up to a minute', () => {
  const quarantine = create();
  const waits: number[] = [];
  for (let i = 0; i < 10; i++) {
    quarantine.onDeath(death('a/d1', 0), null);
    waits.push(quarantine.list(noLink)[0]!.until);
  }
  assert.deepEqual(waits, [1000, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  assert.equal(quarantine.isQuarantined('a/d1'), true);
  assert.deepEqual([quarantine.mayServe('a/d1', 59_999), quarantine.mayServe('a/d1', 60_000)], [false, true]);
});

test('who burned CPU waits at least as long as it burned, and operators see why', () => {
  const quarantine = create();
  const burnt = { reason: 'its code burned', burntMs: 12_000 };
  const waits: number[] = [];
  for (let i = 0; i < 5; i++) {
    quarantine.onDeath(death('a/d1', 0), null, burnt);
    waits.push(quarantine.list(noLink)[0]!.until);
  }
  assert.deepEqual(waits, [12_000, 12_000, 24_000, 48_000, 60_000]);
  assert.equal(quarantine.state(0).quarantine[0]?.reason, 'its code burned');
});

test('a death of its own engine is its own doing, whatever the signal', () => {
  const quarantine = create();
  quarantine.onDeath(death('a/d1', 0), null);
  quarantine.onDeath(death('a/d1', 0), null);
  assert.deepEqual(quarantine.onDeath(death(null, 0, ['b/d2']), 'a/d1'), ['a/d1']);
  assert.deepEqual(
    quarantine.state(0).ledger.map(({ deployment, exact }) => [deployment, exact]),
    [['a/d1', 3]],
  );
});

test('it is released after a minute of good service and some requests', () => {
  const quarantine = create();
  quarantine.onDeath(death('a/d1', 0), null);
  quarantine.onDeath(death('a/d1', 0), null);
  assert.deepEqual(quarantine.pass(900_000, true), []);
  quarantine.onServing('a/d1', 1_000_000);
  quarantine.onServed('a/d1', 2);
  assert.deepEqual(quarantine.pass(1_060_000, true), []);
  quarantine.onServed('a/d1', 3);
  assert.deepEqual(quarantine.pass(1_059_999, true), []);
  assert.deepEqual(quarantine.pass(1_060_000, true), ['a/d1']);
  assert.equal(quarantine.state(0).ledger[0]?.exact, 1);
});

test('one that nobody asks for is released when its deaths are long ago', () => {
  const quarantine = create();
  quarantine.onDeath(death('a/d1', 0), null);
  quarantine.onDeath(death('a/d1', 0), null);
  assert.deepEqual(quarantine.pass(86_400_000, true), ['a/d1']);
});

test('who was dangerous before a restart is apart after it, without a pause', () => {
  const before = create();
  before.onDeath(death('a/d1', 0), null);
  before.onDeath(death('a/d1', 0), null);
  before.onDeath(death('b/d2', 0), null);
  const after = new Quarantine(policy, before.ledger, 5000);
  assert.deepEqual(after.list(noLink), [{ deployment: 'a/d1', strikes: 2, until: 5000, link: null, returns: false }]);
  assert.equal(after.mayServe('a/d1', 5000), true);
});

test('operators see since when, how often and until when', () => {
  const quarantine = create();
  quarantine.onDeath(death('a/d1', 1000), null);
  quarantine.onDeath(death('a/d1', 2000), null);
  assert.deepEqual(quarantine.state(2500).quarantine, [
    {
      deployment: 'a/d1',
      since: '1970-01-01T00:00:01.000Z',
      strikes: 2,
      until: '1970-01-01T00:00:03.000Z',
      reason: 'its code crashed its engine',
    },
  ]);
  assert.equal(quarantine.state(3000).quarantine[0]?.until, null);
});
