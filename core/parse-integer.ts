// Parses integers from external text: environment variables, flags, fields of files. Pure.

/** Valid range of a number. */
interface IntegerRange {
  readonly least?: number;
  readonly most?: number;
  /** Description, for the error. */
  readonly what?: string;
}

/**
 * An integer of at least 0 in decimal digits.
 *
 * @param name the name of the source, for the error.
 * @throws {Error} with the name, valid values, and the text.
 * @example parseInteger('DRAIN_MS', '250') // 250
 */
export function parseInteger(
  name: string,
  text: string,
  { least = 0, most = Number.MAX_SAFE_INTEGER, what = 'a whole number' }: IntegerRange = {},
): number {
  const number = Number(text);
  if (/^\s*\d+\s*$/.test(text) && number >= least && number <= most) return number;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new Error(`${name} must be ${what} ${range}, but is "${text}"`);
}

/** A TCP port; 0 means a free port, if the caller allows it. */
export function parsePort(name: string, text: string, least: 0 | 1 = 0): number {
  return parseInteger(name, text, { least, most: 65_535, what: 'a port' });
}
