// When a cron schedule fires next, in a time zone: croner, under the rules of docs/cron.md. Called where timers are
// set and when one has fired. Pure, but for the time zones that the program carries.
import { createRequire } from 'node:module';
import type { CronSchedule } from './cron-schedule.ts';

// Loaded when the first time is asked for: most engines never do.
const load = createRequire(import.meta.url) as (name: 'croner') => typeof import('croner');

/** Whether the program knows a time zone of this name. */
export function isTimeZone(name: string): boolean {
  if (name === '' || name.length > 64) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
}

/**
 * The first moment after `afterMs` at which a schedule fires, in milliseconds since 1970; null when there is none.
 *
 * @example nextCronTime(schedule, 'Europe/Vienna', Date.now())
 */
export function nextCronTime(schedule: CronSchedule, timeZone: string, afterMs: number): number | null {
  const { Cron } = load('croner');
  const zone = timeZone === 'UTC' ? { utcOffset: 0 } : { timezone: timeZone };
  // What has no wildcard goes by the clock: a time that is skipped fires when the clocks jump, a repeated one once.
  const cron = new Cron(expressionOf(schedule), { ...zone, mode: '6-part', fixedTimeRule: 'no-wildcard' });
  return cron.nextRun(new Date(afterMs))?.getTime() ?? null;
}

/** Every field as a list, but for a wildcard where all hours fit, or where a day field says nothing. */
function expressionOf(schedule: CronSchedule): string {
  const { seconds, minutes, hours, days, months, weekdays, anyDay } = schedule;
  return [
    seconds,
    minutes,
    hours.length === 24 ? '*' : hours,
    !anyDay && days.length === 31 ? '*' : days,
    months,
    !anyDay && weekdays.length === 7 ? '*' : weekdays,
  ].join(' ');
}
