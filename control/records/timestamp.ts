// Lists by time. Timestamps in cursors are exact to the microsecond, unlike Date.
import type { Fragment, Sql, Transaction } from '#postgres/sql.ts';
import type { TimePage } from '../http/page.ts';

/**
 * A column as `2026-11-23T08:30:00.123456Z`. Compare with `${text}::text::timestamptz`: a plain parameter would be
 * converted to a Date.
 */
export function timestampOfColumn(sql: Sql | Transaction, column: string) {
  return sql`to_char(${sql(column)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/**
 * The last clauses of a statement that reads a page, the newest rows first: `AND (created_at, id) < ... ORDER BY ...
 * LIMIT`.
 *
 * @param of prefix of the columns, such as `d.`. @param time the column of the time.
 */
export function newestFirst(
  sql: Sql | Transaction,
  { count, after }: TimePage,
  of: string = '',
  time: string = 'created_at',
): Fragment {
  const [at, id] = [sql(`${of}${time}`), sql(`${of}id`)];
  return sql`
    ${after === null ? sql`` : sql`AND (${at}, ${id}) < (${after.moment}::text::timestamptz, ${after.id})`}
    ORDER BY ${at} DESC, ${id} DESC LIMIT ${count}`;
}
