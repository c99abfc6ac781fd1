// Queues, timers and workflows inside an isolate, over Postgres as the role that engines have.
import { openEventsPostgres } from '#runtime/stores/event-stores.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { eventBindingsContract } from './event-bindings.ts';

eventBindingsContract(async (limits) => {
  const database = await createTestDatabase();
  const stores = openEventsPostgres({ url: database.engineUrl, name: 'test', limits });
  return {
    stores,
    async close() {
      await stores.close();
      await database.close();
    },
  };
});
