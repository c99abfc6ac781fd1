// Validates the arguments that a worker passed to a binding. All arguments are untrusted. Types are checked, sizes are
// limited, and names that no store accepts (NUL, lone surrogates) are refused, with an error that names the argument
// and the reason.
import { PlatformError } from '#core/errors.ts';

/** The arguments of a call as a record. @throws {PlatformError} `invalid_argument`. */
export function toRecord(args: unknown): Readonly<Record<string, unknown>> {
  if (args === null || typeof args !== 'object' || Array.isArray(args))
    throw invalid('The arguments must be an object');
  return args as Readonly<Record<string, unknown>>;
}

export function invalid(reason: string): PlatformError {
  return new PlatformError('invalid_argument', { reason });
}

/**
 * Validates a text that becomes part of a name in a store: not empty, without NUL, well-formed, at most `bytesMax`
 * bytes of UTF-8.
 */
export function toName(value: unknown, what: string, bytesMax: number): string {
  if (typeof value !== 'string') throw invalid(`${what} must be a string`);
  if (value === '') throw invalid(`${what} must not be empty`);
  if (value.includes('\0')) throw invalid(`${what} must not contain NUL`);
  if (!value.isWellFormed()) throw invalid(`${what} must be well-formed Unicode`);
  // A code unit takes at least one byte, so most names need no encoder.
  if (value.length > bytesMax || (value.length * 3 > bytesMax && Buffer.byteLength(value) > bytesMax))
    throw invalid(`${what} has ${Buffer.byteLength(value)} bytes, and may have ${bytesMax}`);
  return value;
}

/** An integer within limits; `otherwise` when it is absent. */
export function toWhole(
  value: unknown,
  what: string,
  bounds: { least: number; most: number; otherwise?: number },
): number {
  if ((value === undefined || value === null) && bounds.otherwise !== undefined) return bounds.otherwise;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < bounds.least || value > bounds.most)
    throw invalid(`${what} must be a whole number from ${bounds.least} to ${bounds.most}`);
  return value;
}

/** The JSON text of a value from the bridge, at most `bytesMax` bytes. */
export function toJsonText(value: unknown, what: string, bytesMax: number): string {
  const text = JSON.stringify(value ?? null);
  if (Buffer.byteLength(text) > bytesMax)
    throw invalid(`${what} has ${Buffer.byteLength(text)} bytes as JSON, and may have ${bytesMax}`);
  return text;
}

const CURSOR_BEGINS = 'after ';

/** The cursor for the next page of a list. @param last the last name of the previous page. */
export function toCursor(last: string): string {
  return Buffer.from(CURSOR_BEGINS + last).toString('base64url');
}

/** The name in a cursor of {@link toCursor}; null means the first page. @throws {PlatformError} `invalid_argument` */
export function fromCursor(cursor: unknown): string | null {
  if (cursor === undefined || cursor === null || cursor === '') return null;
  const text =
    typeof cursor === 'string' && /^[\w-]{1,2800}$/.test(cursor) ? Buffer.from(cursor, 'base64url').toString() : '';
  const name = text.slice(CURSOR_BEGINS.length);
  if (text.startsWith(CURSOR_BEGINS) && !name.includes('\0') && toCursor(name) === cursor) return name;
  throw invalid('The cursor is not valid');
}
