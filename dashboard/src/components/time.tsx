// Times and durations. Times are relative and are updated while they are shown; the tooltip has the exact time in the
// user's time zone.
import { useSyncExternalStore } from 'react';
import { usePreferences } from '../state/preferences.ts';
import { durationText, exactTime, relativeTime } from '../state/time-text.ts';

export { axisTimes, clockText, durationText, exactTime, latencyText } from '../state/time-text.ts';

const TICK_MS = 1000;

/** A point in time: ISO 8601, ms since 1970, or a date. */
type Moment = string | number | Date;

/** @example <Time at={deployment.createdAt} /> // "4 min ago" */
export function Time({ at, isExact = false }: { readonly at: Moment; readonly isExact?: boolean }) {
  const { timeZone } = usePreferences();
  const now = useNow(isExact ? null : TICK_MS);
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>unknown</span>;
  const exact = exactTime(date, timeZone);
  return (
    <time dateTime={date.toISOString()} title={exact} style={{ whiteSpace: 'nowrap' }}>
      {isExact ? exact : relativeTime(date.getTime(), now, timeZone)}
    </time>
  );
}

/** A duration, which grows until `to` is set. @example <Duration from={createdAt} to={readyAt} /> */
export function Duration({ from, to }: { readonly from: Moment; readonly to: Moment | null }) {
  const now = useNow(to === null ? TICK_MS : null);
  return (
    <span style={{ whiteSpace: 'nowrap' }}>
      {durationText((to === null ? now : new Date(to).getTime()) - new Date(from).getTime())}
    </span>
  );
}

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let shownNow = Date.now();

/** One shared clock. */
function listen(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    shownNow = Date.now();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
const still = (): (() => void) => () => {};

/** The current time, updated every `tickMs`; null means that it is never updated. */
function useNow(tickMs: number | null): number {
  return useSyncExternalStore(tickMs === null ? still : listen, () => shownNow);
}
