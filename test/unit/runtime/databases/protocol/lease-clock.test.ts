// The end of a lease, by two clocks of which one may stand still and the other may be set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { later, LeaseEnd, type Moment } from '#runtime/databases/protocol/lease-clock.ts';

/** A lease of 8 seconds, and the clocks of its machine. */
function lease(): { end: LeaseEnd; renew: () => void; run: (ms: number) => void; setDay: (ms: number) => void } {
  let now: Moment = { monotonic: 1_000_000, day: 1_800_000_000_000 };
  const end = new LeaseEnd(later(now, 8000), () => now);
  return {
    end,
    renew: () => end.set(later(now, 8000)),
    run: (ms) => (now = later(now, ms)),
    // A machine that slept shows nothing else.
    setDay: (ms) => (now = { ...now, day: now.day + ms }),
  };
}

test('a lease ends after its time', () => {
  const { end, run } = lease();
  run(7999);
  assert.deepEqual([end.leftMs, end.isPast], [1, false]);
  run(1);
  assert.deepEqual([end.leftMs, end.isPast], [0, true]);
});

test('time that a machine slept counts', () => {
  const { end, run, setDay } = lease();
  run(1000);
  setDay(6000);
  assert.equal(end.leftMs, 1000);
  run(1000);
  assert.equal(end.isPast, true);
});

test('a clock of the day that is set forward costs one lease, and the next one holds', () => {
  const { end, run, setDay, renew } = lease();
  setDay(3_600_000);
  assert.equal(end.isPast, true);
  renew();
  run(7999);
  assert.equal(end.isPast, false);
});

test('a lease that has ended does not hold again when the clock is set back', () => {
  const { end, setDay } = lease();
  setDay(3_600_000);
  assert.equal(end.isPast, true);
  setDay(-3_600_000);
  assert.equal(end.isPast, true);
});

test('a clock of the day that is set back makes no lease longer, and a later sleep still counts', () => {
  const { end, run, setDay } = lease();
  run(1000);
  setDay(-3_600_000);
  assert.equal(end.leftMs, 7000);
  run(1000);
  assert.equal(end.leftMs, 6000);
  setDay(6000);
  assert.equal(end.isPast, true);
});

test('without an end a lease holds, whatever the clocks say', () => {
  const { end, run, setDay } = lease();
  end.set(null);
  run(1e9);
  setDay(1e9);
  assert.deepEqual([end.isPast, end.at], [false, null]);
});
