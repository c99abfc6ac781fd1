// The index of the databases that may have messages in their outbox, over `Sql`. It is written before a message is
// added, and read by the sweep of outbox.ts, so that no database is opened needlessly. Independent of the outboxes
// themselves.
import type { DatabasePlace } from '../engine/bindings/scope.ts';
import type { Sql } from './sql.ts';

/** A database to check. */
export interface OutboxPlace extends DatabasePlace {
  /** When a message was last announced for the database. */
  readonly touchedAt: number;
}

/** The outbox index, whose writes are durable. */
export interface OutboxIndex {
  /** Registers that messages may be added to this outbox; it is checked from `checkAt` on. */
  touch(place: DatabasePlace, now: number, checkAt: number): Promise<void>;
  /** Takes databases whose check is due at `now`, and schedules their next check at `next`. */
  due(now: number, next: number, most: number): Promise<OutboxPlace[]>;
  /** Removes a database, unless it was registered again in the meantime. */
  drop(place: OutboxPlace): Promise<void>;
  /** Removes a database that will be deleted. */
  forget(place: DatabasePlace): Promise<void>;
}

export function createOutboxIndex(sql: Sql): OutboxIndex {
  const skip = sql.technology === 'postgres' ? 'FOR UPDATE SKIP LOCKED' : '';
  return {
    async touch({ namespace, resource }, now, checkAt) {
      await sql.all(
        `INSERT INTO outbox_database (namespace, resource, touched_at, check_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (namespace, resource) DO UPDATE SET touched_at = excluded.touched_at
         WHERE outbox_database.touched_at < excluded.touched_at`,
        namespace,
        resource,
        now,
        checkAt,
      );
    },
    due: (now, next, most) =>
      sql.all<OutboxPlace>(
        `UPDATE outbox_database SET check_at = $2 WHERE (namespace, resource) IN (
           SELECT namespace, resource FROM outbox_database WHERE check_at <= $1 ORDER BY check_at LIMIT $3 ${skip})
         RETURNING namespace, resource, touched_at AS "touchedAt"`,
        now,
        next,
        most,
      ),
    async drop({ namespace, resource, touchedAt }) {
      await sql.all(
        'DELETE FROM outbox_database WHERE namespace = $1 AND resource = $2 AND touched_at = $3',
        namespace,
        resource,
        touchedAt,
      );
    },
    async forget({ namespace, resource }) {
      await sql.all('DELETE FROM outbox_database WHERE namespace = $1 AND resource = $2', namespace, resource);
    },
  };
}
