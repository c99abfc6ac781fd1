// Queues, timers and workflows over Postgres, as the role that engines have, for contract suites.
import { after } from 'node:test';
import type { DeliveryLimits } from '#core/limits.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { openEventsPostgres } from '#runtime/stores/event-stores-postgres.ts';
import { createTestDatabase } from './postgres.ts';

/** Opens the stores of one database, one after the other for the whole file: closing them empties it. */
export function eventsInPostgres(): (
  limits: DeliveryLimits,
) => Promise<{ stores: EventStores; close(): Promise<void> }> {
  let shared: Promise<{ database: Awaited<ReturnType<typeof createTestDatabase>>; owner: Postgres }> | null = null;
  let open = 0;
  let over = false;
  const endWhenDone = async (): Promise<void> => {
    if (!over || open > 0 || shared === null) return;
    const { database, owner } = await shared;
    await owner.close();
    await database.close();
  };
  // May come before the hook that closes the last stores.
  after(() => {
    over = true;
    return endWhenDone();
  });
  const start = async (): Promise<Awaited<NonNullable<typeof shared>>> => {
    const database = await createTestDatabase();
    return { database, owner: openPostgres({ url: database.url, name: 'test', connectionsMax: 1 }) };
  };
  return async (limits) => {
    open++;
    const { database, owner } = await (shared ??= start());
    const stores = openEventsPostgres({ url: database.engineUrl, name: 'test', limits });
    return {
      stores,
      async close() {
        await stores.close();
        await owner.all(`TRUNCATE binding.lane, binding.queue_message, binding.queue_dedupe, binding.timer,
          binding.workflow_execution, binding.outbox_database CASCADE`);
        open--;
        await endWhenDone();
      },
    };
  };
}
