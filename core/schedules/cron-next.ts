// The next time of a cron schedule in a time zone: croner, with the rules of docs/cron.md. Called when timers are set
// and when a timer has fired. Pure, except for the time zones in the program.
import { createRequire } from 'node:module';
import type { CronSchedule } from './cron-schedule.ts';

// The library is loaded on first use, because most engines never need it.
const load = createRequire(import.meta.url) as (name: 'croner') => typeof import('croner');

/** Whether a time zone is known. */
export function isTimeZone(name: string): boolean {
  if (name === '' || name.length > 64) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
}

/**
 * The first time after `afterMs` at which a schedule fires, in milliseconds since 1970; null when there is none.
 *
 * @example nextCronTime(schedule, 'Europe/Vienna', Date.now())
 */
export function nextCronTime(schedule: CronSchedule, timeZone: string, afterMs: number): number | null {
  const { Cron } = load('croner');
  const zone = timeZone === 'UTC' ? { utcOffset: 0 } : { timezone: timeZone };
  // Schedules without wildcards follow the clock: a skipped time fires when the clocks jump, a repeated time fires
  // once.
  const cron = new Cron(expressionOf(schedule), { ...zone, mode: '6-part', fixedTimeRule: 'no-wildcard' });
  return cron.nextRun(new Date(afterMs))?.getTime() ?? null;
}

/** The expression for croner: every field is a list, but all hours and an unrestricted day field are wildcards. */
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
