// The removal of a branch over Postgres, as the role that engines have.
import { openEventsPostgres } from '#runtime/stores/event-stores-postgres.ts';
import { createStatePostgres } from '#runtime/stores/state-postgres.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { branchRemovalContract } from './branch-removal.ts';

branchRemovalContract(async (limits) => {
  const database = await createTestDatabase();
  const stores = openEventsPostgres({ url: database.engineUrl, name: 'test', limits });
  return {
    stores,
    state: createStatePostgres(stores.sql),
    async close() {
      await stores.close();
      await database.close();
    },
  };
});
