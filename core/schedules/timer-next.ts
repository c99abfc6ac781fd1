// The next time of a repeating timer. Called when a timer is set, and by the broker when a timer has fired. Pure.
import { nextCronTime } from './cron-next.ts';
import { parseCronSchedule } from './cron-schedule.ts';

/**
 * The next time of a timer, or null. Missed times are not caught up: after a downtime, the timer fires once.
 *
 * @param scheduledTime the time for which this event was scheduled.
 */
export function nextTime(
  timer: { readonly intervalMs: number | null; readonly cron: string | null; readonly timezone: string | null },
  now: number,
  scheduledTime: number,
): number | null {
  if (timer.cron !== null) {
    const parsed = parseCronSchedule(timer.cron);
    return 'problem' in parsed
      ? null
      : nextCronTime(parsed.schedule, timer.timezone ?? 'UTC', Math.max(now, scheduledTime));
  }
  if (timer.intervalMs === null) return null;
  const missed = Math.max(0, Math.floor((now - scheduledTime) / timer.intervalMs));
  return scheduledTime + (missed + 1) * timer.intervalMs;
}
