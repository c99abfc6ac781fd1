// Queues, timers, cron and workflows of `platform dev`.
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { eventStoresContract } from './event-stores.ts';

eventStoresContract(async (limits) => {
  const stores = openEventsSqlite({ file: ':memory:', limits });
  return { stores, close: () => stores.close() };
});
