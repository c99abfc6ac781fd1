// The db binding over the database service.
import { startDatabases } from '#test/setup/databases.ts';
import { databaseBindingContract } from './database-binding.ts';

databaseBindingContract(async () => {
  const { client, close } = await startDatabases();
  return { store: client, hasOffsets: true, hasEveryNumber: true, close };
});
