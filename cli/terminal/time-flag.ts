// Parses times of flags such as `--since`: relative to now, or ISO times. Pure.
import { CliError } from './failure.ts';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Parses the time of a flag.
 *
 * @throws {CliError} with exit code 2.
 * @example
 * parseTimeFlag('--since', '10m', Date.parse('2026-11-23T12:00:00Z')).toISOString(); // '2026-11-23T11:50:00.000Z'
 */
export function parseTimeFlag(flag: string, text: string, now: number = Date.now()): Date {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (unit !== undefined) return new Date(now - Number(count) * UNIT_MS[unit]!);
  const moment = new Date(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(moment.getTime())) return moment;
  throw new CliError(`${flag}: invalid time "${text}"`, {
    exitCode: 2,
    advice: 'Use 30s, 10m, 2h, 7d, or a time such as 2026-11-23T08:30:00Z.',
  });
}
