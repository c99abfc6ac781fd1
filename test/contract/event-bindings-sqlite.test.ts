// Queues, timers and workflows inside an isolate, as in `platform dev`.
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { eventBindingsContract } from './event-bindings.ts';

eventBindingsContract(async (limits) => {
  const stores = openEventsSqlite({ file: ':memory:', limits });
  return { stores, close: () => stores.close() };
});
