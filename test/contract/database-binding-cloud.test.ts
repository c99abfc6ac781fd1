// The db binding over a libSQL cloud.
import { createDatabaseCloud } from '#runtime/stores/database-cloud.ts';
import { databaseCloudSettings } from '#runtime/stores/database-cloud-api.ts';
import { cloudEnvironment, startDatabaseCloud } from '#test/setup/database-cloud.ts';
import { databaseBindingContract } from './database-binding.ts';

databaseBindingContract(async () => {
  const cloud = await startDatabaseCloud();
  const store = createDatabaseCloud(databaseCloudSettings(cloudEnvironment(cloud)));
  return {
    store,
    hasOffsets: false,
    hasEveryNumber: false,
    async close() {
      store.close();
      await cloud.close();
    },
  };
});
