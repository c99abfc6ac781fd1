// The db binding over the database service.
import type { DatabaseLimits } from '#core/limits.ts';
import { startDatabases } from '#test/setup/databases.ts';
import { databaseBindingContract, type DatabaseBindingCase } from './database-binding.ts';
import { databaseLeftOpenContract } from './database-left-open.ts';

async function open(limits?: DatabaseLimits): Promise<DatabaseBindingCase> {
  const { client, close } = await startDatabases(limits);
  return { store: client, hasOffsets: true, hasEveryNumber: true, close };
}

databaseBindingContract(open);
databaseLeftOpenContract(open);
