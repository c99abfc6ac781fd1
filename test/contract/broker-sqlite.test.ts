// The broker of `platform dev`.
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { brokerContract } from './broker.ts';

brokerContract(async (limits) => {
  const stores = openEventsSqlite({ file: ':memory:', limits });
  return { stores, close: () => stores.close() };
});
