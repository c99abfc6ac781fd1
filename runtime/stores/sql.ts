// The SQL that Postgres and SQLite both speak, behind one interface: the stores of queues, timers and workflows are
// written once over it, with the same meaning in dev and in production. Drivers: sql-postgres.ts, sql-sqlite.ts.

/** A value of a parameter. */
export type SqlValue = string | number | null;

/** Runs statements. Parameters are `$1`, `$2`...; int8 columns are numbers. */
export interface Sql {
  readonly technology: 'postgres' | 'sqlite';
  /** Ends a SELECT whose rows stay as they are until the transaction ends. */
  readonly lock: ' FOR UPDATE' | '';
  /** @throws {PlatformError} `store_unavailable` when the database cannot be reached. */
  all<Row>(text: string, ...parameters: readonly SqlValue[]): Promise<Row[]>;
  /**
   * The same for changes that may be undone when the server crashes a moment later, as if they had never been: claims.
   */
  asyncCommit<Row>(text: string, ...parameters: readonly SqlValue[]): Promise<Row[]>;
  /** All or nothing. What `work` throws rolls back. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
}

/** Condition `column is one of these numbers`, and the parameter it takes. */
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

/** Beyond every key: none has so many bytes. */
const lastKey = '\u{10ffff}'.repeat(300);

/** The first key, in byte order, behind all that begin with a prefix: the database looks no further. */
export function prefixEnd(prefix: string): string {
  const points = Array.from(prefix, (letter) => letter.codePointAt(0)!);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return lastKey;
  // No text has half of a surrogate pair.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/** Pattern of a LIKE ... ESCAPE '!' for what begins with a prefix. */
export function likePrefix(prefix: string): string {
  return `${prefix.replace(/[!%_]/g, '!$&')}%`;
}
