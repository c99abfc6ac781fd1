// The SQL that Postgres and SQLite both speak, behind one interface: the stores of queues, timers and workflows are written once
// over it, with the same meaning in dev and in production. Drivers: sql-postgres.ts, sql-sqlite.ts.

/** A value of a parameter. */
export type SqlValue = string | number | null;

/** Runs statements. Parameters are `$1`, `$2`...; int8 columns are numbers. */
export interface Sql {
  readonly technology: 'postgres' | 'sqlite';
  /** Ends a SELECT whose rows stay as they are until the transaction ends. */
  readonly lock: ' FOR UPDATE' | '';
  /** @throws {PlatformError} `store_unavailable` when the database cannot be reached. */
  all<Row>(text: string, ...parameters: readonly SqlValue[]): Promise<Row[]>;
  /** The same for changes that may be undone when the server crashes a moment later, as if they had never been: claims. */
  fleeting<Row>(text: string, ...parameters: readonly SqlValue[]): Promise<Row[]>;
  /** All or nothing. What `work` throws rolls back. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
}

/** Condition `column is one of these numbers`, and the parameter it takes. */
export function oneOf(sql: Sql, column: string, parameter: number, numbers: readonly number[]): { condition: string; value: string } {
  return sql.technology === 'postgres'
    ? { condition: `${column} = ANY($${parameter}::bigint[])`, value: `{${numbers.join(',')}}` }
    : { condition: `${column} IN (SELECT value FROM json_each($${parameter}))`, value: `[${numbers.join(',')}]` };
}

/** Pattern of a LIKE ... ESCAPE '!' for what begins with a prefix. */
export function likePrefix(prefix: string): string {
  return `${prefix.replace(/[!%_]/g, '!$&')}%`;
}
