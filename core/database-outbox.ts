// The outbox of a project's database: messages that are sent to queues if and only if the transaction that wrote them
// commits. Its SQL, the same wherever the database is, and what a row holds. Pure.
import { ownTablePrefix, SqlRefusal } from './database-request.ts';

/** The table; workers' SQL may read it and nothing else. */
export const outboxTable = `${ownTablePrefix}outbox`;

/** Inside the transaction that writes the first row. */
export const createOutbox = `CREATE TABLE IF NOT EXISTS ${outboxTable} (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, message TEXT NOT NULL)`;

/** One row when there is an outbox. */
export const findOutbox = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '${outboxTable}'`;

/**
 * Takes what {@link outboxList} gives, and how many rows there may be; gives a row for each, or none when they do not
 * all fit.
 */
export const insertOutbox = `WITH given (list) AS (SELECT ?)
  INSERT INTO ${outboxTable} (id, message)
  SELECT value ->> 0, value ->> 1 FROM given, json_each(given.list)
  WHERE json_array_length(given.list)
    + (SELECT coalesce(max(seq), 0) FROM ${outboxTable}) - (SELECT coalesce(min(seq), 1) FROM ${outboxTable}) + 1 <= ?
  ORDER BY key RETURNING seq`;

/**
 * @param args ids and messages in turn. @returns them as a JSON list of pairs. @throws {SqlRefusal} for anything else.
 */
export function outboxList(args: readonly unknown[]): string {
  if (args.length === 0 || args.length % 2 !== 0 || !args.every((value) => typeof value === 'string'))
    throw new SqlRefusal('SQLITE_MISUSE', 'messages are ids and texts in turn');
  // SQLite would make other text of a lone surrogate than it makes of one in a list of ids to remove.
  const texts = args.map((text) => text.toWellFormed());
  return JSON.stringify(Array.from({ length: texts.length / 2 }, (_, index) => texts.slice(2 * index, 2 * index + 2)));
}

/** Takes how many rows; gives ids and messages, the oldest first. */
export const readOutbox = `SELECT id, message FROM ${outboxTable} ORDER BY seq LIMIT ?`;

/** Takes a JSON list of ids. By id: numbers are given again once the table is empty. */
export const removeOutbox = `DELETE FROM ${outboxTable} WHERE id IN (SELECT value FROM json_each(?))`;

/** Bytes of one page of rows, more only when the first row has more. */
const OUTBOX_PAGE_BYTES_MAX = 1024 * 1024;

/** A message as its row holds it, as JSON. The row's id is the message's. */
export interface OutboxMessage {
  /** Of the queue. */
  readonly resource: string;
  readonly project: string;
  readonly branch: string;
  /** Name under which the sender knows the queue. */
  readonly binding: string;
  /** As its sender encoded it. */
  readonly payload: string;
  readonly dueAt: number;
  readonly dedupeId: string | null;
  readonly orderingKey: string | null;
  /** The trace it is sent in, as `traceparent`; absent: none. */
  readonly trace?: string;
}

/** The beginning of rows that fits a page; at least one. */
export function outboxPage(
  rows: readonly (readonly [id: string, message: string])[],
): readonly (readonly [string, string])[] {
  let bytes = 0;
  let count = 0;
  for (const [, message] of rows) {
    bytes += message.length;
    if (count > 0 && bytes > OUTBOX_PAGE_BYTES_MAX) break;
    count++;
  }
  return rows.slice(0, count);
}
