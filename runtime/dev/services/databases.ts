// Project databases of `platform dev`: the same service as in production, with one shard, started when the first
// worker or migration needs it. Opened by dev.ts.
import { limitsFrom } from '#core/limits.ts';
import type { DatabaseStore } from '../../engine/bindings/database.ts';
import { startDatabaseService, type DatabaseService } from '../../databases/service/service.ts';
import { createDatabaseClient, type DatabaseClient, type DatabaseOwner } from '../../stores/database-service.ts';

/** The databases in a folder. */
interface LocalDatabases {
  readonly store: DatabaseStore;
  readonly migrate: DatabaseOwner['migrate'];
  /** All operations of the databases' owner. */
  readonly owned: Omit<DatabaseClient, 'close'>;
  close(): Promise<void>;
}

/** @param report receives messages for the user, such as about a statement that was ended. */
export function openLocalDatabases(directory: string, report: (message: string) => void): LocalDatabases {
  const limits = limitsFrom(process.env).database;
  let opened: Promise<{ service: DatabaseService; client: DatabaseClient }> | null = null;
  const open = (): NonNullable<typeof opened> =>
    (opened ??= startDatabaseService({ directory, limits, shards: 1, synchronous: 'normal', report }).then(
      (service) => ({
        service,
        client: createDatabaseClient({ socketPath: service.socketPath }, limits),
      }),
    ));
  return {
    store: {
      run: async (place, op, transaction, payload) => (await open()).client.run(place, op, transaction, payload),
    },
    migrate: async (place, files) => (await open()).client.migrate(place, files),
    owned: {
      run: async (...given) => (await open()).client.run(...given),
      migrate: async (...given) => (await open()).client.migrate(...given),
      migrations: async (...given) => (await open()).client.migrations(...given),
      backup: async (...given) => (await open()).client.backup(...given),
      restore: async (...given) => (await open()).client.restore(...given),
      restoreFrom: async (...given) => (await open()).client.restoreFrom(...given),
      replica: async (...given) => (await open()).client.replica(...given),
      restoreAt: async (...given) => (await open()).client.restoreAt(...given),
      list: async (...given) => (await open()).client.list(...given),
      branch: async (...given) => (await open()).client.branch(...given),
      remove: async (...given) => (await open()).client.remove(...given),
      describe: async (...given) => (await open()).client.describe(...given),
      slow: async (...given) => (await open()).client.slow(...given),
      kept: async () => (await open()).client.kept(),
      sweep: async (...given) => (await open()).client.sweep(...given),
      move: async (...given) => (await open()).client.move(...given),
      import: async (...given) => (await open()).client.import(...given),
    },
    async close() {
      if (opened === null) return;
      const { service, client } = await opened;
      client.close();
      await service.close();
    },
  };
}
