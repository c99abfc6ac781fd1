// Database requests and responses as JSON, for all executors: the database service, the cloud store, and the guest
// half of the binding, which has its own writer. Pure.

/** Operations on a database, by the number that requests contain. */
export const databaseOps = {
  /**
   * Runs a statement: `[sql, values, rows?]` -> {@link WireResult}. `rows` limits the rows of a statement that only
   * reads.
   */
  query: 1,
  /** Runs statements in one transaction: `[[sql, values], ...]` -> a list of {@link WireResult}. */
  batch: 2,
  /** Runs a text with any number of statements: `[sql]` -> `{n, d}`, their count and the milliseconds. */
  exec: 3,
  /** Returns the bytes of the database as a SQLite file; takes `[]`. */
  dump: 4,
  /** Begins an interactive transaction: `[]` -> `{t}`, its number for later requests. */
  begin: 5,
  /**
   * Commits an interactive transaction: `[]` -> `{m: [version], o?}`. `o` is the number of messages that it added to
   * the outbox.
   */
  commit: 6,
  /** `[]` -> `{}`. */
  rollback: 7,
} as const;

/** Operations that only the platform uses, for the outbox (core/database-outbox.ts). */
export const outboxOps = {
  /** Adds all messages or none, inside an interactive transaction: `[id, message, ...]` -> `{}`. */
  enqueue: 10,
  /** Returns the oldest rows: `[]` -> `{rows: [id, message][]}`. */
  pending: 11,
  /** `[ids]` -> `{}`: removes them. */
  dequeue: 12,
} as const;

/** Prefix of the platform's tables in a project's database. */
export const ownTablePrefix = 'platform_internal_';

/**
 * A value as JSON. Values that JSON cannot represent are objects: `b` a blob in base64, `i` an integer beyond 2^53,
 * `n` the numbers `-0`, `NaN`, `Infinity` and `-Infinity`.
 */
export type WireValue =
  | null
  | number
  | string
  | { readonly b: string }
  | { readonly i: string }
  | { readonly n: string };

/** A value of SQLite. */
export type StoredValue = null | number | string | bigint | Uint8Array;

/** Rows of a statement, or its changes. */
export interface WireResult {
  /** Column names. */
  readonly c: readonly string[];
  /** Rows. */
  readonly r: readonly (readonly WireValue[])[];
  /**
   * duration ms, rows read, rows written, changes, last row id, 1 when the database changed, bytes afterwards, version,
   * shard.
   */
  readonly m: readonly [number, number, number, number, WireValue, 0 | 1, number, number, number];
}

/** A refusal by the database: SQLite's code and message; for `exec` also the line and the text of the statement. */
export interface WireRefusal {
  readonly e: readonly [code: string, message: string, line?: number, statement?: string];
}

/** An error of a statement: becomes a {@link WireRefusal}, and `D1_ERROR: message: CODE` in the worker. */
export class SqlRefusal extends Error {
  /** For example `SQLITE_CONSTRAINT_UNIQUE`. */
  readonly code: string;
  /** Line of the statement in the text given to `exec`, from 1, and the statement. */
  readonly place: readonly [line: number, statement: string] | null;

  constructor(code: string, message: string, place: readonly [number, string] | null = null) {
    super(message);
    this.name = 'SqlRefusal';
    this.code = code;
    this.place = place;
  }

  toJson(): string {
    return JSON.stringify({ e: [this.code, this.message, ...(this.place ?? [])] } satisfies WireRefusal);
  }
}

/** @throws {SqlRefusal} for invalid values. */
export function fromWire(value: unknown): StoredValue {
  if (value === null || typeof value === 'number' || typeof value === 'string') return value;
  if (typeof value === 'object') {
    const { b, i, n } = value as { b?: unknown; i?: unknown; n?: unknown };
    if (typeof b === 'string') return Buffer.from(b, 'base64');
    if (typeof i === 'string' && /^-?\d{1,19}$/.test(i) && BigInt.asIntN(64, BigInt(i)) === BigInt(i)) return BigInt(i);
    if (n === '-0' || n === 'NaN' || n === 'Infinity' || n === '-Infinity') return Number(n);
  }
  throw new SqlRefusal('SQLITE_MISMATCH', 'a parameter is not a value that SQLite stores');
}

/** Converts a value for JSON. Integers within 2^53 become numbers. */
export function toWire(value: StoredValue | undefined): WireValue {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { n: Object.is(value, -0) ? '-0' : String(value) };
    case 'bigint':
      return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : { i: String(value) };
    case 'string':
      return value;
    default:
      return value === null || value === undefined ? null : { b: asBuffer(value).toString('base64') };
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
