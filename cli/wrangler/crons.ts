// Converts cron expressions of Cloudflare, where weekdays are 1 (Sunday) to 7 (Saturday) and `L`, `W` and `#` are
// supported. Pure.
import { parseCronSchedule } from '#core/schedules/cron-schedule.ts';

const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/**
 * The converted schedule, or the problem.
 *
 * @example importedCron('0 9 * * 2-6') // { cron: '0 9 * * MON-FRI' }
 * @example importedCron('0 9 L * *').problem // it has L, W or #, which are not supported here
 */
export function importedCron(text: string): { readonly cron: string } | { readonly problem: string } {
  const parts = text.trim().split(/\s+/);
  const weekday = parts[4];
  if (parts.length !== 5 || weekday === undefined) return { problem: `it has ${parts.length} fields instead of five` };
  if (/L|W(?!ED)|#/i.test(`${parts[2]} ${weekday}`))
    return { problem: 'it has L, W or #, which are not supported here: check the day in the worker' };
  // A step (`*/2`, `2-6/2`) counts from the same day in both formats.
  const named = weekday.replaceAll(/(?<![/\d])\d+/g, (day) => WEEKDAYS[Number(day) - 1] ?? `day ${day}`);
  const cron = [...parts.slice(0, 4), named].join(' ');
  const parsed = parseCronSchedule(cron);
  return 'problem' in parsed ? { problem: parsed.problem } : { cron };
}
