// The removal of a branch over the stores of SQLite.
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { openStateSqlite } from '#runtime/stores/state-sqlite.ts';
import { branchRemovalContract } from './branch-removal.ts';

branchRemovalContract(async (limits) => {
  const stores = openEventsSqlite({ file: ':memory:', limits });
  const state = openStateSqlite(':memory:');
  return {
    stores,
    state,
    async close() {
      state.close();
      await stores.close();
    },
  };
});
