// The state store of `platform dev`.
import { openStateSqlite } from '#runtime/stores/state-sqlite.ts';
import { stateStoreContract } from './state-store.ts';

stateStoreContract(async () => {
  const store = openStateSqlite(':memory:');
  return { store, close: async () => store.close() };
});
