// Queues, timers, cron and workflows over a SQLite file, for `platform dev`. Loads no Postgres client.
import { randomBytes } from 'node:crypto';
import type { DeliveryLimits } from '#core/limits.ts';
import type { Presence } from '#postgres/presence.ts';
import { createLocalWake } from '#postgres/wake.ts';
import { closeEventStores, eventStoresOver, eventTables, type EventStores } from './event-stores.ts';
import type { Sql } from './sql.ts';
import { openSqliteSql } from './sql-sqlite.ts';

/**
 * Opens the stores over a SQLite file, which processes of this machine may share; `:memory:` stores nothing on disk.
 */
export function openEventsSqlite(options: {
  file: string;
  limits: DeliveryLimits;
}): EventStores & { readonly sql: Sql } {
  const sql = openSqliteSql(options.file, eventTables);
  const wake = createLocalWake();
  return {
    ...eventStoresOver(sql, wake, options.limits),
    sql,
    join: async () => joinByProcess(),
    close: () => closeEventStores(wake, sql),
  };
}

/** Membership among processes of one machine that share a file. A member leaves when its process exits. */
function joinByProcess(): Presence {
  // The id of the process is not sufficient, because in a container, the next process has the same id.
  const self = `p${process.pid}-${Math.round(performance.timeOrigin)}-`;
  const id = `${self}${randomBytes(9).toString('base64url')}`;
  return {
    id,
    isGone(other) {
      const pid = Number(/^p(\d+)-/.exec(other)?.[1]);
      if (!Number.isInteger(pid)) return false;
      if (pid === process.pid) return !other.startsWith(self);
      try {
        process.kill(pid, 0);
        return false;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ESRCH';
      }
    },
    close: async () => {},
  };
}
