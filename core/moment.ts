// Times in RFC 3339, with a time zone, as people enter them. Pure.

const MOMENT =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/**
 * @returns the time in milliseconds since 1970; null for all other texts, including days that do not exist.
 * @example parseMoment('2026-11-28T12:00:00Z')
 */
export function parseMoment(text: string): number | null {
  const match = MOMENT.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const time = Date.UTC(
    year,
    month - 1,
    day,
    hour,
    minute,
    second,
    Number((match[7] ?? '').padEnd(3, '0').slice(0, 3)),
  );
  if (new Date(time).getUTCDate() !== day) return null;
  const offset = (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)) * 60_000;
  return match[8] === '-' ? time + offset : time - offset;
}
