// Cron expressions: what each field allows, and the sentence for each that is wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCronSchedule, type CronSchedule } from '#core/schedules/cron-schedule.ts';

function valid(text: string): CronSchedule {
  const parsed = parseCronSchedule(text);
  assert.ok('schedule' in parsed, `${text}: ${JSON.stringify(parsed)}`);
  return parsed.schedule;
}

function count(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

test('five fields fire at second 0, six begin with the seconds', () => {
  assert.deepEqual(valid('5 4 3 2 1'), {
    seconds: [0],
    minutes: [5],
    hours: [4],
    days: [3],
    months: [2],
    weekdays: [1],
    anyDay: true,
  });
  assert.deepEqual(valid('  6  5 4\t3 2 * '), {
    seconds: [6],
    minutes: [5],
    hours: [4],
    days: [3],
    months: [2],
    weekdays: [0, 1, 2, 3, 4, 5, 6],
    anyDay: false,
  });
});

test('stars, lists, ranges, steps and words are understood', () => {
  assert.deepEqual(valid('* * * * *').minutes, count(0, 59));
  assert.deepEqual(valid('* * * * *').days, count(1, 31));
  assert.deepEqual(valid('*/20 * * * *').minutes, [0, 20, 40]);
  assert.deepEqual(valid('5/20 * * * *').minutes, [5, 25, 45]);
  assert.deepEqual(valid('10-20/5 * * * *').minutes, [10, 15, 20]);
  assert.deepEqual(valid('3,1,2,2-4 * * * *').minutes, [1, 2, 3, 4]);
  assert.deepEqual(valid('* * * jan-Mar,DEC *').months, [1, 2, 3, 12]);
  assert.deepEqual(valid('* * * * MON-fri').weekdays, [1, 2, 3, 4, 5]);
  assert.deepEqual(valid('* * * * 7').weekdays, [0]);
  assert.deepEqual(valid('* * * * FRI-SUN').weekdays, [0, 5, 6]);
  assert.deepEqual(valid('* * * * 5/1').weekdays, [5, 6]);
  assert.deepEqual(valid('0 0 ? * 1').weekdays, [1]);
  assert.equal(valid('0 0 29 2 *').anyDay, false);
  assert.equal(valid('0 0 31 2 1').anyDay, true);
});

const wrong: readonly (readonly [string, string])[] = [
  ['', 'A schedule has 5 or 6 fields, not 0'],
  ['* * * *', 'A schedule has 5 or 6 fields, not 4'],
  ['* * * * * * *', 'A schedule has 5 or 6 fields, not 7'],
  ['@daily', 'Words such as "@daily" are not supported; write the five fields, such as "0 0 * * *"'],
  ['60 * * * *', '"60" is not a minute (0 to 59)'],
  ['-1 * * * *', '"-1" is not a minute (0 to 59)'],
  ['* 24 * * *', '"24" is not a hour (0 to 23)'],
  ['* * 0 * *', '"0" is not a day of month (1 to 31)'],
  ['* * 32 * *', '"32" is not a day of month (1 to 31)'],
  ['* * * 13 *', '"13" is not a month (1 to 12)'],
  ['* * * * 8', '"8" is not a weekday (0 to 7)'],
  ['* * * * MONDAY', '"MONDAY" is not a weekday (0 to 7)'],
  ['60 * * * * *', '"60" is not a second (0 to 59)'],
  ['1, * * * *', '"" is not a minute (0 to 59)'],
  ['1-2-3 * * * *', '"1-2-3" is not a minute (0 to 59)'],
  ['5-1 * * * *', '"5-1" is not a minute: the range runs backwards'],
  ['*/0 * * * *', '"*/0" is not a minute: after "/" comes a whole number of at least 1'],
  ['*/ * * * *', '"*/" is not a minute: after "/" comes a whole number of at least 1'],
  ['*/1/1 * * * *', '"*/1/1" is not a minute: after "/" comes a whole number of at least 1'],
  ['*/x * * * *', '"*/x" is not a minute: after "/" comes a whole number of at least 1'],
  ['? * * * *', '"?" is not a minute: "?" is for the two day fields'],
  ['* * L * *', '"L" is not a day of month (1 to 31)'],
  ['* * 15W * *', '"15W" is not a day of month (1 to 31)'],
  ['* * * * 1#2', '"1#2" is not a weekday (0 to 7)'],
  ['1e1 * * * *', '"1e1" is not a minute (0 to 59)'],
  ['0x1 * * * *', '"0x1" is not a minute (0 to 59)'],
  ['0 0 30 2 *', 'No month of the schedule has a day 30, so it never fires'],
  ['0 0 31 4,6,9,11 *', 'No month of the schedule has a day 31, so it never fires'],
  [`${'1,'.repeat(200)}1 * * * *`, 'A schedule has at most 256 characters'],
];

for (const [text, problem] of wrong) {
  test(`the schedule ${JSON.stringify(text.slice(0, 30))} is refused`, () => {
    assert.deepEqual(parseCronSchedule(text), { problem });
  });
}
