// Durations of workflows: numbers of milliseconds, or texts such as `5 minutes`.

const units: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
  month: 2_592_000_000,
  year: 31_536_000_000,
};

/** Milliseconds. A month has 30 days, a year 365. @throws {TypeError} for anything else. */
export function toMs(value: unknown): number {
  if (typeof value === 'number' && value >= 0) return value;
  const [, count, unit] =
    (typeof value === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*$/i.exec(value) : null) ?? [];
  const factor = unit === undefined ? undefined : units[unit.toLowerCase()];
  if (factor === undefined)
    throw new TypeError(`A time must be milliseconds or a text such as "5 minutes", not ${String(value)}`);
  return Number(count) * factor;
}
