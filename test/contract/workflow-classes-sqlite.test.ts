// Workflows as classes, as in `platform dev`.
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { workflowClassesContract } from './workflow-classes.ts';

workflowClassesContract(async (limits) => {
  const stores = openEventsSqlite({ file: ':memory:', limits });
  return { stores, close: () => stores.close() };
});
