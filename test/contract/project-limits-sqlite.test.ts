// What a project may keep in state and queues, as in `platform dev`.
import { defaultLimits } from '#core/limits.ts';
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { openStateSqlite } from '#runtime/stores/state-sqlite.ts';
import { projectLimitsContract } from './project-limits.ts';

projectLimitsContract(async () => {
  const events = openEventsSqlite({ file: ':memory:', limits: defaultLimits.delivery });
  const state = openStateSqlite(':memory:');
  return {
    events,
    state,
    stateBytes: async (namespace) => state.bytes(namespace),
    async close() {
      state.close();
      await events.close();
    },
  };
});
