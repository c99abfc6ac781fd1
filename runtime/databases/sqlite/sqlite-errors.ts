// SQLite's result codes by name, and its errors as refusals without any data of the host.
import { SqlRefusal } from '#core/database-request.ts';

const names: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  2: 'SQLITE_INTERNAL',
  3: 'SQLITE_PERM',
  4: 'SQLITE_ABORT',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  9: 'SQLITE_INTERRUPT',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  17: 'SQLITE_SCHEMA',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  21: 'SQLITE_MISUSE',
  23: 'SQLITE_AUTH',
  25: 'SQLITE_RANGE',
  26: 'SQLITE_NOTADB',
  275: 'SQLITE_CONSTRAINT_CHECK',
  531: 'SQLITE_CONSTRAINT_COMMITHOOK',
  787: 'SQLITE_CONSTRAINT_FOREIGNKEY',
  1043: 'SQLITE_CONSTRAINT_FUNCTION',
  1299: 'SQLITE_CONSTRAINT_NOTNULL',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  1811: 'SQLITE_CONSTRAINT_TRIGGER',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
  2323: 'SQLITE_CONSTRAINT_VTAB',
  2579: 'SQLITE_CONSTRAINT_ROWID',
  2835: 'SQLITE_CONSTRAINT_PINNED',
  3091: 'SQLITE_CONSTRAINT_DATATYPE',
};

/** SQLite's extended result code of an error; 0 if it is not from SQLite. */
export function resultCode(error: unknown): number {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode : 0;
}

/** Whether the file itself is damaged (a damaged full-text index, 267, is the tenant's own fault). */
export function isCorruption(error: unknown): boolean {
  const code = resultCode(error);
  return (code & 0xff) === 26 || ((code & 0xff) === 11 && code !== 267);
}

export function isBusy(error: unknown): boolean {
  return (resultCode(error) & 0xff) === 5;
}

/** Converts an error of a statement to a refusal. Other errors are rethrown: they are bugs. */
export function toRefusal(error: unknown, message?: string): SqlRefusal {
  if (error instanceof SqlRefusal) return error;
  const code = resultCode(error);
  if (code === 0) throw error;
  const text = message ?? (error as Error).message;
  return new SqlRefusal(names[code] ?? names[code & 0xff] ?? 'SQLITE_ERROR', text);
}

/** SQLite's message when it may not allocate more pages. */
const FULL = 'database or disk is full';

/**
 * Replaces SQLite's message for a full disk with that of the limit that was reached; without `full`, the refusal is
 * unchanged.
 */
export function explainFull(refusal: SqlRefusal, full: Error | null): SqlRefusal {
  const { code, message, place } = refusal;
  return full === null || code !== 'SQLITE_FULL' || message !== FULL
    ? refusal
    : new SqlRefusal(code, full.message, place);
}
