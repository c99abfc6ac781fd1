// Timestamps for cursors: exact to the microsecond, unlike Date.
import type { Sql, Transaction } from '#postgres/sql.ts';

/**
 * A column as `2026-11-23T08:30:00.123456Z`. Compare with `${text}::text::timestamptz`: a plain parameter would be
 * converted to a Date.
 */
export function momentOfColumn(sql: Sql | Transaction, column: string) {
  return sql`to_char(${sql(column)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
