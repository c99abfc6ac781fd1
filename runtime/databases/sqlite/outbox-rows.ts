// The rows of the outbox in a database: added by transactions, read and removed for their queues
// (runtime/stores/outbox.ts). Called by interactive-transaction.ts and owner-operations.ts.
import type { DatabaseLimits } from '#core/limits.ts';
import {
  createOutbox,
  findOutbox,
  insertOutbox,
  outboxList,
  outboxPage,
  readOutbox,
  removeOutbox,
} from '#core/database-outbox.ts';
import { SqlRefusal } from '#core/database-request.ts';
import type { Connection } from './connection.ts';

/** Rows read at a time. */
const ROWS = 100;

/**
 * Adds messages in the open transaction.
 *
 * @returns how many.
 * @throws {SqlRefusal} when too many are already waiting.
 */
export function putIntoOutbox(connection: Connection, args: readonly unknown[], { outboxMax }: DatabaseLimits): number {
  const list = outboxList(args);
  connection.own(createOutbox);
  const { length } = connection.own(insertOutbox, list, outboxMax);
  if (length === 0) {
    throw new SqlRefusal('SQLITE_FULL', `more than ${outboxMax} messages wait to be moved to their queues`);
  }
  return length;
}

/** The next messages, as JSON. */
export function pendingInOutbox(connection: Connection): string {
  if (connection.own(findOutbox).length === 0) return '{"rows":[]}';
  return JSON.stringify({ rows: outboxPage(connection.own(readOutbox, ROWS) as [string, string][]) });
}

/** Removes messages that are in their queue. @returns false if there is no outbox. */
export function removeFromOutbox(connection: Connection, ids: unknown): boolean {
  if (connection.own(findOutbox).length === 0) return false;
  // A worker's table that refers to the outbox must not block the deletion of its rows.
  connection.own('PRAGMA foreign_keys=OFF');
  try {
    connection.own(removeOutbox, JSON.stringify(ids));
  } finally {
    connection.own('PRAGMA foreign_keys=ON');
  }
  return true;
}
