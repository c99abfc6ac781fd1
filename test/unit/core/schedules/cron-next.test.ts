import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTimeZone, nextCronTime } from '#core/schedules/cron-next.ts';
import { parseCronSchedule } from '#core/schedules/cron-schedule.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

function next(text: string, timeZone: string, after: string, count = 1): (string | null)[] {
  const parsed = parseCronSchedule(text);
  assert.ok('schedule' in parsed, text);
  const times: (string | null)[] = [];
  let at: number | null = Date.parse(after);
  for (let index = 0; index < count && at !== null; index++) {
    at = nextCronTime(parsed.schedule, timeZone, at);
    times.push(at === null ? null : new Date(at).toISOString());
  }
  return times;
}

test('the next time is after the given moment, never the moment itself', () => {
  assert.deepEqual(next('*/5 * * * *', 'UTC', '2026-11-21T10:05:00Z', 2), [
    '2026-11-21T10:10:00.000Z',
    '2026-11-21T10:15:00.000Z',
  ]);
  assert.deepEqual(next('* * * * * *', 'UTC', '2026-11-21T10:05:00.001Z'), ['2026-11-21T10:05:01.000Z']);
});

test('months, weekdays and leap days are found across years', () => {
  assert.deepEqual(next('0 3 * * MON-FRI', 'UTC', '2026-11-20T03:00:00Z'), ['2026-11-23T03:00:00.000Z']);
  assert.deepEqual(next('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z'), ['2028-02-29T00:00:00.000Z']);
  assert.deepEqual(next('30 23 31 12 *', 'UTC', '2026-12-31T23:30:00Z'), ['2027-12-31T23:30:00.000Z']);
  assert.deepEqual(next('0 0 13 * FRI', 'UTC', '2026-11-21T00:00:00Z'), ['2026-11-27T00:00:00.000Z']);
});

test('a time zone moves the time of day', () => {
  assert.deepEqual(next('0 9 * * *', 'Asia/Kolkata', '2026-11-21T00:00:00Z'), ['2026-11-21T03:30:00.000Z']);
  assert.deepEqual(next('0 0 1 * *', 'Pacific/Auckland', '2026-11-21T00:00:00Z'), ['2026-11-30T11:00:00.000Z']);
});

test('a time that the clocks skip fires when they jump', () => {
  // Vienna, 29 March 2026: 02:00 becomes 03:00 at 01:00 UTC.
  assert.deepEqual(next('30 2 * * *', 'Europe/Vienna', '2026-03-28T12:00:00Z', 2), [
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ]);
});

test('a time that comes twice fires the first time only', () => {
  // Vienna, 25 October 2026: 03:00 becomes 02:00 at 01:00 UTC.
  assert.deepEqual(next('30 2 * * *', 'Europe/Vienna', '2026-10-24T12:00:00Z', 2), [
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
  ]);
});

test('a schedule of every hour goes by the time that passes', () => {
  assert.deepEqual(next('*/30 * * * *', 'Europe/Vienna', '2026-10-24T23:45:00Z', 5), [
    '2026-10-25T00:00:00.000Z',
    '2026-10-25T00:30:00.000Z',
    '2026-10-25T01:00:00.000Z',
    '2026-10-25T01:30:00.000Z',
    '2026-10-25T02:00:00.000Z',
  ]);
  assert.deepEqual(next('*/30 * * * *', 'Europe/Vienna', '2026-03-29T00:15:00Z', 3), [
    '2026-03-29T00:30:00.000Z',
    '2026-03-29T01:00:00.000Z',
    '2026-03-29T01:30:00.000Z',
  ]);
});

test('a time that comes twice is found from before the change to summer time as well', () => {
  // New York, 1 November 2026: 02:00 becomes 01:00 at 06:00 UTC.
  assert.deepEqual(next('30 1 * NOV *', 'America/New_York', '2026-02-15T12:00:00Z', 2), [
    '2026-11-01T05:30:00.000Z',
    '2026-11-02T06:30:00.000Z',
  ]);
});

test('a range of hours fires once an hour of the clock, in lists, ranges and steps of minutes alike', () => {
  const night = ['2026-10-24T23:00:00.000Z', '2026-10-25T00:00:00.000Z', '2026-10-25T02:00:00.000Z'];
  for (const minutes of ['0', '*/60', '0-0'])
    assert.deepEqual(next(`${minutes} 1-3 * * *`, 'Europe/Vienna', '2026-10-24T22:30:00Z', 3), night);
  // Vienna, 29 March 2026: of all skipped times together one is made up for.
  assert.deepEqual(next('*/20 2 * * *', 'Europe/Vienna', '2026-03-28T12:00:00Z', 2), [
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:00:00.000Z',
  ]);
});

test('a day that a zone skipped whole is left out and does not stop the search', () => {
  // Samoa had no 30 December 2011.
  assert.deepEqual(next('0 12 30 12 *', 'Pacific/Apia', '2011-12-29T00:00:00Z'), ['2012-12-29T22:00:00.000Z']);
});

test('an offset is a time zone as well', () => {
  assert.deepEqual(next('0 9 * * *', '+05:30', '2026-11-21T00:00:00Z'), ['2026-11-21T03:30:00.000Z']);
});

test('names of time zones are known or not', () => {
  assert.equal(isTimeZone('Europe/Vienna'), true);
  assert.equal(isTimeZone('UTC'), true);
  assert.equal(isTimeZone('Mars/Olympus'), false);
  assert.equal(isTimeZone(''), false);
  assert.equal(isTimeZone('x'.repeat(100)), false);
});

test('every schedule fires at a moment whose clock it lists, unless the clocks jump there', () => {
  const random = createSeededRandom();
  const zones = [
    'UTC',
    'Europe/Vienna',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'America/St_Johns',
  ];
  for (let round = 0; round < 400; round++) {
    const zone = random.pick(zones);
    const hours = random.pick(['*', '*/3', '2', '0-5']);
    const text = `${random.below(60)} ${random.pick(['*', '*/7', String(random.below(60))])} ${hours} ${random.pick(['*', '1-15'])} * *`;
    const parsed = parseCronSchedule(text);
    assert.ok('schedule' in parsed);
    const after = Date.UTC(
      2026,
      random.below(12),
      1 + random.below(28),
      random.below(24),
      random.below(60),
      random.below(60),
    );
    const at = nextCronTime(parsed.schedule, zone, after);
    const where = `${text} in ${zone} after ${new Date(after).toISOString()}, FUZZ_SEED=${random.seed}`;
    assert.ok(at !== null && at > after, where);
    const clock = (ms: number): number[] =>
      new Intl.DateTimeFormat('en-GB', {
        timeZone: zone,
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        hourCycle: 'h23',
      })
        .formatToParts(ms)
        .filter(({ type }) => type !== 'literal')
        .map(({ value }) => Number(value));
    const [hour, minute, second] = clock(at);
    const [hourBefore, minuteBefore] = clock(at - 1000);
    const jumped = hour! * 60 + minute! - (hourBefore! * 60 + minuteBefore!) > 1;
    const listed = parsed.schedule.hours.includes(hour!) && parsed.schedule.minutes.includes(minute!);
    assert.ok(jumped || (listed && parsed.schedule.seconds.includes(second!)), where);
  }
});
