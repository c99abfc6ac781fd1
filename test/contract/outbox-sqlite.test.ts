// The outbox of `platform dev`.
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { outboxContract } from './outbox.ts';

outboxContract(async (limits) => {
  const stores = openEventsSqlite({ file: ':memory:', limits });
  return { stores, close: () => stores.close() };
});
