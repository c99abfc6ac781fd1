import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTime } from '#core/schedules/timer-next.ts';

const once = { intervalMs: null, cron: null, timezone: null };
const HOUR = 3_600_000;

test('a timer that does not repeat fires once', () => {
  assert.equal(nextTime(once, 5000, 1000), null);
});

test('an interval keeps its pace, and what was missed is not made up for', () => {
  const hourly = { ...once, intervalMs: HOUR };
  assert.equal(nextTime(hourly, 1005, 1000), 1000 + HOUR);
  assert.equal(nextTime(hourly, 1000 + 2.5 * HOUR, 1000), 1000 + 3 * HOUR);
  assert.equal(nextTime(hourly, 1000 + 2 * HOUR, 1000), 1000 + 3 * HOUR);
});

test('a clock that is behind the scheduled time gives the one after it', () => {
  assert.equal(nextTime({ ...once, intervalMs: HOUR }, 0, 10 * HOUR), 11 * HOUR);
  const daily = { ...once, cron: '0 9 * * *', timezone: 'UTC' };
  const nine = Date.parse('2026-11-21T09:00:00Z');
  assert.equal(nextTime(daily, nine - HOUR, nine), nine + 24 * HOUR);
});

test('a schedule fires at its next time after now, in its zone', () => {
  const daily = { ...once, cron: '0 9 * * *', timezone: 'Europe/Vienna' };
  const now = Date.parse('2026-11-24T12:00:00Z');
  assert.equal(nextTime(daily, now, Date.parse('2026-11-21T08:00:00Z')), Date.parse('2026-11-25T08:00:00Z'));
  assert.equal(nextTime({ ...daily, cron: 'broken' }, now, now), null);
});
