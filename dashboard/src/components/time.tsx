// Points in time and lengths of it. A time is relative and ticks; the exact one is its title, in the zone that the user
// has chosen.
import { useSyncExternalStore } from 'react';
import { usePreferences, type TimeZone } from '../state/preferences.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A point in time: ISO 8601, ms since 1970, or a date. */
export type Moment = string | number | Date;

/** @example <Time at={deployment.createdAt} /> // "4 min ago" */
export function Time({ at, isExact = false }: { readonly at: Moment; readonly isExact?: boolean }) {
  const { timeZone } = usePreferences();
  const now = useNow(isExact ? null : SECOND_MS);
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>unknown</span>;
  const exact = exactTime(date, timeZone);
  return (
    <time dateTime={date.toISOString()} title={exact} style={{ whiteSpace: 'nowrap' }}>
      {isExact ? exact : relativeTime(date.getTime(), now)}
    </time>
  );
}

/** A length of time that grows until it has an end. @example <Duration from={createdAt} to={readyAt} /> */
export function Duration({ from, to }: { readonly from: Moment; readonly to: Moment | null }) {
  const now = useNow(to === null ? SECOND_MS : null);
  return (
    <span style={{ whiteSpace: 'nowrap' }}>
      {durationText((to === null ? now : new Date(to).getTime()) - new Date(from).getTime())}
    </span>
  );
}

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

/** @example relativeTime(Date.now() - 240_000, Date.now()) // '4 min ago' */
export function relativeTime(at: number, now: number): string {
  const ms = now - at;
  const [all, words] = ms < 0 ? [-ms, (text: string) => `in ${text}`] : [ms, (text: string) => `${text} ago`];
  if (all < 5 * SECOND_MS) return 'just now';
  if (all < MINUTE_MS) return words(`${Math.floor(all / SECOND_MS)} s`);
  if (all < HOUR_MS) return words(`${Math.floor(all / MINUTE_MS)} min`);
  if (all < DAY_MS) return words(`${Math.floor(all / HOUR_MS)} h`);
  if (all < 30 * DAY_MS) return words(`${Math.floor(all / DAY_MS)} d`);
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
}

/** @example exactTime(new Date(0), 'UTC') // '1 Jan 1970, 00:00:00 UTC' */
export function exactTime(date: Date, timeZone: TimeZone): string {
  return date.toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
    ...(timeZone === 'UTC' && { timeZone: 'UTC' }),
  });
}

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let shownNow = Date.now();

/** One clock for all that ticks. */
function listen(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    shownNow = Date.now();
    for (const one of listeners) one();
  }, SECOND_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
const still = (): (() => void) => () => {};

/** The time, which goes on; null: it stays. */
function useNow(tickMs: number | null): number {
  return useSyncExternalStore(tickMs === null ? still : listen, () => shownNow);
}
