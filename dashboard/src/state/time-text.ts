// Formats times and durations in the user's time zone. Pure; rendered by time.tsx.

/** The browser's time zone, or UTC. */
export type TimeZone = 'local' | 'UTC';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Day before month and 24 hours, independently of the browser's language. */
const LOCALE = 'en-GB';

/** @example durationText(83_000) // '1 min 23 s' */
export function durationText(ms: number): string {
  const all = Math.max(0, ms);
  if (all < SECOND_MS) return `${Math.round(all)} ms`;
  if (all < 10 * SECOND_MS) return `${(all / SECOND_MS).toFixed(1)} s`;
  if (all < MINUTE_MS) return `${Math.round(all / SECOND_MS)} s`;
  if (all < HOUR_MS) return `${Math.floor(all / MINUTE_MS)} min ${Math.floor((all % MINUTE_MS) / SECOND_MS)} s`;
  if (all < DAY_MS) return `${Math.floor(all / HOUR_MS)} h ${Math.floor((all % HOUR_MS) / MINUTE_MS)} min`;
  return `${Math.floor(all / DAY_MS)} d ${Math.floor((all % DAY_MS) / HOUR_MS)} h`;
}

/** A latency, with fractions of milliseconds below 10 ms. @example latencyText(0.42) // '0.42 ms' */
export function latencyText(ms: number): string {
  if (ms === 0) return '0 ms';
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  return ms < 10 ? `${ms.toFixed(1)} ms` : durationText(ms);
}

/** @example relativeTime(Date.now() - 240_000, Date.now()) // '4 min ago' */
export function relativeTime(at: number, now: number, timeZone: TimeZone = 'local'): string {
  const ms = now - at;
  const [all, words] = ms < 0 ? [-ms, (text: string) => `in ${text}`] : [ms, (text: string) => `${text} ago`];
  if (all < 5 * SECOND_MS) return 'just now';
  if (all < MINUTE_MS) return words(`${Math.floor(all / SECOND_MS)} s`);
  if (all < HOUR_MS) return words(`${Math.floor(all / MINUTE_MS)} min`);
  if (all < DAY_MS) return words(`${Math.floor(all / HOUR_MS)} h`);
  if (all < 30 * DAY_MS) return words(`${Math.floor(all / DAY_MS)} d`);
  return new Date(at).toLocaleDateString(LOCALE, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    ...zoned(timeZone),
  });
}

/** Time of a log line. @example clockText(new Date(0), 'UTC') // '00:00:00.000' */
export function clockText(date: Date, timeZone: TimeZone): string {
  return date.toLocaleTimeString(LOCALE, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    ...zoned(timeZone),
  });
}

/**
 * Labels of a time axis: the hour, and the day where it changes.
 *
 * @param moments ascending, ms since 1970.
 * @example axisTimes([0, 43_200_000, 86_400_000], 'UTC') // ['00:00', '12:00', '2 Jan']
 */
export function axisTimes(moments: readonly number[], timeZone: TimeZone): string[] {
  const texts = (options: Intl.DateTimeFormatOptions): string[] => {
    const format = new Intl.DateTimeFormat(LOCALE, { ...options, ...zoned(timeZone) });
    return moments.map((at) => format.format(at));
  };
  const days = texts({ day: 'numeric', month: 'short' });
  const stepMs = moments.length > 1 ? moments[1]! - moments[0]! : MINUTE_MS;
  const clocks = texts({ hour: '2-digit', minute: '2-digit', ...(stepMs < MINUTE_MS && { second: '2-digit' }) });
  return days.map((day, at) => {
    if (stepMs >= DAY_MS) return day;
    if (at === 0 || day === days[at - 1]) return clocks[at]!;
    return clocks[at]!.startsWith('00:00') ? day : `${day}, ${clocks[at]}`;
  });
}

/**
 * The value of a `datetime-local` field.
 *
 * @example fieldTime('2026-01-02T03:04:05.000Z', 'UTC') // '2026-01-02T03:04'
 */
export function fieldTime(iso: string, timeZone: TimeZone): string {
  const date = new Date(iso);
  const shown = timeZone === 'UTC' ? date : new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS);
  return shown.toISOString().slice(0, 16);
}

/** The ISO time of the value of such a field; null if the field is empty. */
export function timeOfField(value: string, timeZone: TimeZone): string | null {
  const at = Date.parse(timeZone === 'UTC' ? `${value}Z` : value);
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

function zoned(timeZone: TimeZone): { timeZone?: string } {
  return timeZone === 'UTC' ? { timeZone: 'UTC' } : {};
}

/** @example exactTime(new Date(0), 'UTC') // '1 Jan 1970, 00:00:00 UTC' */
export function exactTime(date: Date, timeZone: TimeZone): string {
  return date.toLocaleString(LOCALE, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
    ...zoned(timeZone),
  });
}
