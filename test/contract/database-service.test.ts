// The store of databases over the database service's own processes.
import { startDatabases } from '#test/setup/databases.ts';
import { databaseStoreContract } from './database-store.ts';

databaseStoreContract(async () => {
  const { client, close } = await startDatabases();
  return { store: client, close };
});
