// What a project may keep in state and queues, over Postgres as the role that engines have.
import { defaultLimits } from '#core/limits.ts';
import { openEventsPostgres } from '#runtime/stores/event-stores-postgres.ts';
import { stateBytesOf } from '#runtime/stores/project-limits.ts';
import { createStatePostgres } from '#runtime/stores/state-postgres.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { projectLimitsContract } from './project-limits.ts';

projectLimitsContract(async () => {
  const database = await createTestDatabase();
  const events = openEventsPostgres({ url: database.engineUrl, name: 'test', limits: defaultLimits.delivery });
  return {
    events,
    state: createStatePostgres(events.sql),
    stateBytes: (namespace) => stateBytesOf(events.sql, namespace),
    async close() {
      await events.close();
      await database.close();
    },
  };
});
