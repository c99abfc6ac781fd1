// Cron expressions of five or six fields (a leading sixth field for seconds) -> the allowed numbers of each field.
// Called by the parser of platform.yaml and to compute the next run. Pure.
import { quoted } from '../problem.ts';

/** The times at which a schedule fires: a time matches when every field lists it. */
export interface CronSchedule {
  /** 0-59; `[0]` when the expression has five fields. */
  readonly seconds: readonly number[];
  /** 0-59. */
  readonly minutes: readonly number[];
  /** 0-23. */
  readonly hours: readonly number[];
  /** 1-31. */
  readonly days: readonly number[];
  /** 1-12. */
  readonly months: readonly number[];
  /** 0-6, Sunday is 0. */
  readonly weekdays: readonly number[];
  /** As in cron: if days and weekdays are both restricted, a day matches if it is in either list. */
  readonly anyDay: boolean;
}

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly words?: readonly string[];
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const fields: readonly [Field, Field, Field, Field, Field, Field] = [
  { name: 'second', least: 0, most: 59 },
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of month', least: 1, most: 31 },
  { name: 'month', least: 1, most: 12, words: months },
  // 7 is also Sunday.
  { name: 'weekday', least: 0, most: 7, words: weekdays },
];

const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Parses a cron expression.
 *
 * @returns the schedule, or `problem`: a sentence that describes the invalid field.
 * @example parseCronSchedule('0 3 * * MON-FRI') // { schedule: { hours: [3], weekdays: [1, 2, 3, 4, 5], ... } }
 */
export function parseCronSchedule(text: string): { schedule: CronSchedule } | { problem: string } {
  if (text.length > 256) return { problem: 'A schedule has at most 256 characters' };
  const trimmed = text.trim();
  if (trimmed.startsWith('@'))
    return {
      problem: `Words such as ${quoted(trimmed)} are not supported; write the five fields, such as "0 0 * * *"`,
    };
  const parts = trimmed === '' ? [] : trimmed.split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6) return { problem: `A schedule has 5 or 6 fields, not ${parts.length}` };
  const all = parts.length === 5 ? ['0', ...parts] : parts;
  const lists: number[][] = [];
  for (const [index, field] of fields.entries()) {
    const list = parseField(all[index]!, field);
    if (typeof list === 'string') return { problem: list };
    lists.push(list);
  }
  const [seconds, minutes, hours, days, monthList, weekdayList] = lists as [
    number[],
    number[],
    number[],
    number[],
    number[],
    number[],
  ];
  const daysFree = isFree(all[3]!);
  const weekdaysFree = isFree(all[5]!);
  if (!daysFree && weekdaysFree && !monthList.some((month) => days[0]! <= DAYS_OF_MONTH[month - 1]!)) {
    return { problem: `No month of the schedule has a day ${days[0]}, so it never fires` };
  }
  return {
    schedule: {
      seconds,
      minutes,
      hours,
      days,
      months: monthList,
      weekdays: [...new Set(weekdayList.map((day) => day % 7))].sort((a, b) => a - b),
      anyDay: !daysFree && !weekdaysFree,
    },
  };
}

/** Whether a day field is unrestricted; `*\/2` is restricted. */
function isFree(text: string): boolean {
  return text === '*' || text === '?';
}

function parseField(text: string, field: Field): number[] | string {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const problem = addRange(part, field, values);
    if (problem !== undefined) return problem;
  }
  return [...values].sort((a, b) => a - b);
}

function addRange(part: string, field: Field, values: Set<number>): string | undefined {
  const wrong = `${quoted(part)} is not a ${field.name}`;
  const [range = '', stepText, ...more] = part.split('/');
  const step = stepText === undefined ? 1 : /^\d{1,4}$/.test(stepText) ? Number(stepText) : 0;
  if (step === 0 || more.length > 0) return `${wrong}: after "/" comes a whole number of at least 1`;
  let from = field.least;
  let to = field.name === 'weekday' ? 6 : field.most;
  if (range === '?' && !field.name.includes('day')) return `${wrong}: "?" is for the two day fields`;
  if (range !== '*' && range !== '?') {
    const [first = '', last, ...rest] = range.split('-');
    const start = numberOf(first, field);
    let end = last === undefined ? (stepText === undefined ? start : to) : numberOf(last, field);
    // FRI-SUN ends on the following Sunday.
    if (field.name === 'weekday' && end === 0 && start !== 0) end = 7;
    if (start === undefined || end === undefined || rest.length > 0)
      return `${wrong} (${field.least} to ${field.most})`;
    if (start > end) return `${wrong}: the range runs backwards`;
    from = start;
    to = end;
  }
  for (let value = from; value <= to; value += step) values.add(value);
  return undefined;
}

function numberOf(text: string, field: Field): number | undefined {
  const word = field.words?.indexOf(text.toUpperCase()) ?? -1;
  if (word >= 0) return word + field.least;
  const value = Number(text);
  return /^\d{1,2}$/.test(text) && value >= field.least && value <= field.most ? value : undefined;
}
