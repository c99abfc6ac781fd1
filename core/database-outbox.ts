// The outbox of a project's database: messages sent to queues if and only if the transaction that wrote them commits.
// This file has its SQL, which is the same for all kinds of databases, and the content of a row. Pure.
import { ownTablePrefix, SqlRefusal } from './database-request.ts';

/** The table of the outbox, which workers' SQL may only read. */
export const outboxTable = `${ownTablePrefix}outbox`;

/** Creates the table, inside the transaction that writes the first row. */
export const createOutbox = `CREATE TABLE IF NOT EXISTS ${outboxTable} (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, message TEXT NOT NULL)`;

/** Returns one row if there is an outbox. */
export const findOutbox = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '${outboxTable}'`;

/**
 * Inserts and returns a row for each message, or no row if they do not all fit. The parameters are an {@link
 * outboxList}, and the maximum number of rows.
 */
export const insertOutbox = `WITH given (list) AS (SELECT ?)
  INSERT INTO ${outboxTable} (id, message)
  SELECT value ->> 0, value ->> 1 FROM given, json_each(given.list)
  WHERE json_array_length(given.list)
    + (SELECT coalesce(max(seq), 0) FROM ${outboxTable}) - (SELECT coalesce(min(seq), 1) FROM ${outboxTable}) + 1 <= ?
  ORDER BY key RETURNING seq`;

/** @param args ids and messages, alternating. @returns a JSON list of pairs. @throws {SqlRefusal} for anything else. */
export function outboxList(args: readonly unknown[]): string {
  if (args.length === 0 || args.length % 2 !== 0 || !args.every((value) => typeof value === 'string'))
    throw new SqlRefusal('SQLITE_MISUSE', 'messages are ids and texts, alternating');
  // SQLite would convert a lone surrogate in this text differently than in a list of ids to remove.
  const texts = args.map((text) => text.toWellFormed());
  return JSON.stringify(Array.from({ length: texts.length / 2 }, (_, index) => texts.slice(2 * index, 2 * index + 2)));
}

/** Returns ids and messages, oldest first. The parameter is the number of rows. */
export const readOutbox = `SELECT id, message FROM ${outboxTable} ORDER BY seq LIMIT ?`;

/**
 * Removes rows. The parameter is a JSON list of their ids. Ordered by id, because row numbers are reused when the table
 * is empty.
 */
export const removeOutbox = `DELETE FROM ${outboxTable} WHERE id IN (SELECT value FROM json_each(?))`;

/** Size limit for a page of rows. A page is only larger if its first row is. */
const OUTBOX_PAGE_BYTES_MAX = 1024 * 1024;

/** A message in its row, as JSON. The row's id is the message's. */
export interface OutboxMessage {
  /** Resource of the queue. */
  readonly resource: string;
  readonly project: string;
  readonly branch: string;
  /** The sender's binding name for the queue. */
  readonly binding: string;
  /** The body as its sender encoded it. */
  readonly payload: string;
  readonly dueAt: number;
  readonly dedupeId: string | null;
  readonly orderingKey: string | null;
  /** The trace of the sender, as `traceparent`, if it has one. */
  readonly trace?: string;
}

/** The first rows that fit on a page; at least one row. */
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
