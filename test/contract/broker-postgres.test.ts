// The broker over Postgres, as the role that engines have.
import { after, before } from 'node:test';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { openEventsPostgres } from '#runtime/stores/event-stores.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { brokerContract } from './broker.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let owner: Postgres;
before(async () => {
  database = await createTestDatabase();
  owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
});
after(async () => {
  await owner.end();
  await database.close();
});

brokerContract(async (limits) => {
  const stores = openEventsPostgres({ url: database.engineUrl, name: 'test', limits });
  return {
    stores,
    async close() {
      await stores.close();
      await owner`TRUNCATE binding.lane, binding.queue_message, binding.queue_dedupe, binding.timer, binding.workflow_execution CASCADE`;
    },
  };
});
