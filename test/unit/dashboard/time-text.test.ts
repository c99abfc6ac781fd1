// Points in time as charts and lists write them, whatever the language of the machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  axisTimes,
  clockText,
  exactTime,
  fieldTime,
  latencyText,
  timeOfField,
} from '#dashboard/src/state/time-text.ts';

const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 10, 23, 12);

test('an axis names the day where it changes, and hours of 24 otherwise', () => {
  const at = [0, 6, 12, 18].map((hours) => NOON + hours * HOUR_MS);
  assert.deepEqual(axisTimes(at, 'UTC'), ['12:00', '18:00', '24 Nov', '06:00']);
  const later = [10, 14].map((hours) => NOON + hours * HOUR_MS);
  assert.deepEqual(axisTimes(later, 'UTC'), ['22:00', '24 Nov, 02:00']);
});

test('an axis of days has days, one of seconds has seconds', () => {
  assert.deepEqual(axisTimes([NOON, NOON + 24 * HOUR_MS], 'UTC'), ['23 Nov', '24 Nov']);
  assert.deepEqual(axisTimes([NOON, NOON + 30_000], 'UTC'), ['12:00:00', '12:00:30']);
  assert.deepEqual(axisTimes([NOON], 'UTC'), ['12:00']);
  assert.deepEqual(axisTimes([], 'UTC'), []);
});

test('the time of a line and the exact one are of the zone that is chosen', () => {
  const zone = process.env['TZ'];
  process.env['TZ'] = 'Europe/Berlin';
  try {
    const date = new Date(NOON + 5120);
    assert.equal(clockText(date, 'UTC'), '12:00:05.120');
    assert.equal(clockText(date, 'local'), '13:00:05.120');
    assert.equal(exactTime(date, 'UTC'), '23 Nov 2026, 12:00:05 UTC');
    assert.equal(exactTime(date, 'local'), '23 Nov 2026, 13:00:05 CET');
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});

test('a period is typed in the zone that is chosen', () => {
  const zone = process.env['TZ'];
  process.env['TZ'] = 'Europe/Berlin';
  try {
    assert.equal(fieldTime('2026-11-23T12:00:05.000Z', 'UTC'), '2026-11-23T12:00');
    assert.equal(fieldTime('2026-11-23T12:00:05.000Z', 'local'), '2026-11-23T13:00');
    assert.equal(timeOfField('2026-11-23T13:00', 'local'), '2026-11-23T12:00:00.000Z');
    assert.equal(timeOfField('2026-11-23T13:00', 'UTC'), '2026-11-23T13:00:00.000Z');
    assert.equal(timeOfField('', 'UTC'), null);
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});

test('latencies below ten milliseconds have fractions', () => {
  assert.deepEqual([0, 0.42, 3.21, 42.4, 1234].map(latencyText), ['0 ms', '0.42 ms', '3.2 ms', '42 ms', '1.2 s']);
});
