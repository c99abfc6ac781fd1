// One interface for the SQL that Postgres and SQLite have in common. The stores of queues, timers and workflows use it,
// and so behave the same in dev and in production. Drivers: sql-postgres.ts, sql-sqlite.ts.

/** A value of a parameter. */
export type SqlValue = string | number | null;

/** Runs statements. Parameters are `$1`, `$2`...; int8 columns are numbers. */
export interface Sql {
  readonly technology: 'postgres' | 'sqlite';
  /** Text at the end of a SELECT that locks its rows until the transaction ends. */
  readonly lock: ' FOR UPDATE' | '';
  /** @throws {PlatformError} `store_unavailable` when the database cannot be reached. */
  all<Row>(text: string, ...parameters: readonly SqlValue[]): Promise<Row[]>;
  /** Like `all`, for changes such as claims that may be lost as a whole if the server crashes shortly afterwards. */
  asyncCommit<Row>(text: string, ...parameters: readonly SqlValue[]): Promise<Row[]>;
  /** Runs `work` in a transaction; rolls back if it throws. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
}

/** The condition that a column is one of these numbers, and its parameter. */
export function oneOf(
  sql: Sql,
  column: string,
  parameter: number,
  numbers: readonly number[],
): { condition: string; value: string } {
  return sql.technology === 'postgres'
    ? { condition: `${column} = ANY($${parameter}::bigint[])`, value: `{${numbers.join(',')}}` }
    : { condition: `${column} IN (SELECT value FROM json_each($${parameter}))`, value: `[${numbers.join(',')}]` };
}

/** A text that is greater than every key, because no key has this many bytes. */
const lastKey = '\u{10ffff}'.repeat(300);

/** The first key in byte order after all keys with a prefix, so that the database reads no further. */
export function prefixEnd(prefix: string): string {
  const points = Array.from(prefix, (letter) => letter.codePointAt(0)!);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return lastKey;
  // Text in the database cannot contain a lone surrogate.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/** The LIKE pattern of a prefix, with `!` as the escape character. */
export function likePrefix(prefix: string): string {
  return `${prefix.replace(/[!%_]/g, '!$&')}%`;
}
