// Queues, timers, cron and workflows over Postgres.
import type { DeliveryLimits } from '#core/limits.ts';
import { openListener } from '#postgres/listener.ts';
import { joinPresence } from '#postgres/presence.ts';
import { createPostgresWake } from '#postgres/wake.ts';
import { closeEventStores, eventStoresOver, type EventStores } from './event-stores.ts';
import { openPostgresSql } from './sql-postgres.ts';

/** Over Postgres, migrated. @param options.url the URL of the engines' role, or of the owner. */
export function openEventsPostgres(options: {
  url: string;
  name: string;
  limits: DeliveryLimits;
  connectionsMax?: number;
}): EventStores & { readonly sql: ReturnType<typeof openPostgresSql> } {
  const sql = openPostgresSql(options);
  // A separate connection, which continues to listen independently of the others.
  const words = { url: options.url, name: `${options.name} words` };
  const wake = createPostgresWake(
    (channel, payload) => sql.all('SELECT pg_notify($1, $2)', channel, payload),
    (channel, onPayload) => openListener(words, channel, onPayload),
  );
  return {
    ...eventStoresOver(sql, wake, options.limits),
    sql,
    join: (onTrouble) => joinPresence(options.url, onTrouble),
    close: () => closeEventStores(wake, sql),
  };
}
