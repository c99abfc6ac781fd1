// Queues, timers, cron and workflows over a SQLite file: those of `platform dev`. Loads no client of Postgres.
import { randomBytes } from 'node:crypto';
import type { DeliveryLimits } from '#core/limits.ts';
import type { Presence } from '#postgres/presence.ts';
import { createLocalWake } from '#postgres/wake.ts';
import { closeEventStores, eventStoresOver, type EventStores } from './event-stores.ts';
import type { Sql } from './sql.ts';
import { openSqliteSql } from './sql-sqlite.ts';

/** Over a SQLite file, which processes of this machine may share; `:memory:` keeps nothing. */
export function openEventsSqlite(options: {
  file: string;
  limits: DeliveryLimits;
}): EventStores & { readonly sql: Sql } {
  const sql = openSqliteSql(options.file);
  const wake = createLocalWake();
  return {
    ...eventStoresOver(sql, wake, options.limits),
    sql,
    join: async () => joinByProcess(),
    close: () => closeEventStores(wake, sql),
  };
}

/** Among the processes of one machine that share a file: whose process is not there any more is gone. */
function joinByProcess(): Presence {
  // In a container, the next process has the same number.
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
