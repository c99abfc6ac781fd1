// The outbox with queues in Postgres, as the role that engines have.
import { openEventsPostgres } from '#runtime/stores/event-stores.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { outboxContract } from './outbox.ts';

outboxContract(async (limits) => {
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
