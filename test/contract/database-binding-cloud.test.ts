// The db binding over a libSQL cloud.
import type { DatabaseLimits } from '#core/limits.ts';
import { createDatabaseCloud } from '#runtime/stores/database-cloud.ts';
import { databaseCloudSettings } from '#runtime/stores/database-cloud-api.ts';
import { cloudEnvironment, startDatabaseCloud } from '#test/setup/database-cloud.ts';
import { databaseBindingContract, type DatabaseBindingCase } from './database-binding.ts';
import { databaseLeftOpenContract } from './database-left-open.ts';

async function open(limits?: DatabaseLimits): Promise<DatabaseBindingCase> {
  const cloud = await startDatabaseCloud();
  const store = createDatabaseCloud(databaseCloudSettings(cloudEnvironment(cloud)), limits);
  return {
    store,
    hasOffsets: false,
    hasEveryNumber: false,
    async close() {
      store.close();
      await cloud.close();
    },
  };
}

databaseBindingContract(open);
databaseLeftOpenContract(open);
