// When a cron schedule fires next, in a time zone. Called where timers are set and when one has fired. Pure, but for
// the time zones that the program carries.
//
// Summer time: a time of day that the clocks skip fires at the moment they jump; one that comes twice fires the first
// time only. Schedules for every hour go by the time that passes instead, so that "every five minutes" stays that.
import type { CronSchedule } from './cron-schedule.ts';

const second = 1000;
const day = 86_400_000;
/** 29 February on a given weekday may be 40 years away. */
const yearsMax = 41;

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
  const offsetAt = zoneOffset(timeZone);
  const everyHour = schedule.hours.length === 24;
  let from = (Math.floor(afterMs / second) + 1) * second;
  const end = from + yearsMax * 366 * day;
  while (from <= end) {
    const offset = offsetAt(from);
    const wall = nextWallTime(schedule, from + offset);
    if (wall === null) return null;
    const moment = wall - offset;
    if (offsetAt(moment) !== offset) {
      // The clocks change on the way there; from then on they show something else.
      const change = changeBetween(offsetAt, from, moment, offset);
      const skipped = wall < change + offsetAt(change);
      if (skipped && !everyHour) return change;
      from = change;
      continue;
    }
    if (everyHour || !cameBefore(offsetAt, moment, wall, offset)) return moment;
    from = moment + second;
  }
  return null;
}

/** The first second of (from, to] with another offset. */
function changeBetween(offsetAt: (ms: number) => number, from: number, to: number, offset: number): number {
  let before = from;
  let after = to;
  while (after - before > second) {
    const middle = Math.floor((before + after) / 2 / second) * second;
    if (offsetAt(middle) === offset) before = middle;
    else after = middle;
  }
  return after;
}

/** Whether the clocks showed the same some time before, since they were set back. */
function cameBefore(offsetAt: (ms: number) => number, moment: number, wall: number, offset: number): boolean {
  const earlier = offsetAt(moment - day / 8);
  return earlier > offset && offsetAt(wall - earlier) === earlier;
}

/** The first time of day at or after `wall` that fits, both as if in UTC. */
function nextWallTime(schedule: CronSchedule, wall: number): number | null {
  const start = new Date(wall);
  const midnight = Date.UTC(start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate());
  if (fitsDay(schedule, start)) {
    const time = timeOfDay(schedule, wall - midnight);
    if (time !== null) return midnight + time;
  }
  const first = timeOfDay(schedule, 0)!;
  const lastYear = start.getUTCFullYear() + yearsMax;
  for (let date = new Date(midnight + day); date.getUTCFullYear() <= lastYear;) {
    if (!schedule.months.includes(date.getUTCMonth() + 1))
      date = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1));
    else if (fitsDay(schedule, date)) return date.getTime() + first;
    else date = new Date(date.getTime() + day);
  }
  return null;
}

function fitsDay({ months, days, weekdays, anyDay }: CronSchedule, date: Date): boolean {
  if (!months.includes(date.getUTCMonth() + 1)) return false;
  const byDay = days.includes(date.getUTCDate());
  const byWeekday = weekdays.includes(date.getUTCDay());
  return anyDay ? byDay || byWeekday : byDay && byWeekday;
}

/** The first time at or after `ms` past midnight; null when the day has none. */
function timeOfDay({ hours, minutes, seconds }: CronSchedule, ms: number): number | null {
  const total = Math.ceil(ms / second);
  const [hour, minute, rest] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  const make = (h: number, m: number, s: number): number => ((h * 60 + m) * 60 + s) * second;
  if (hours.includes(hour)) {
    if (minutes.includes(minute)) {
      const s = seconds.find((value) => value >= rest);
      if (s !== undefined) return make(hour, minute, s);
    }
    const m = minutes.find((value) => value > minute);
    if (m !== undefined) return make(hour, m, seconds[0]!);
  }
  const h = hours.find((value) => value > hour);
  return h === undefined ? null : make(h, minutes[0]!, seconds[0]!);
}

/** Milliseconds that the clocks of a zone are ahead of UTC. */
function zoneOffset(timeZone: string): (ms: number) => number {
  if (timeZone === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset', year: 'numeric' });
  return (ms) => {
    const [, sign, hours, minutes, seconds] = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(ms)) ?? [];
    const size = ((Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds ?? 0)) * second;
    return sign === '-' ? -size : size;
  };
}
