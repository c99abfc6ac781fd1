// The cache of a handler without Redis.
import { openPostgresSql } from '#runtime/stores/sql-postgres.ts';
import { createCachePostgres } from '#runtime/stores/cache-postgres.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { testCacheStore } from './cache-store.ts';

testCacheStore('postgres', async () => {
  const database = await createTestDatabase();
  const sql = openPostgresSql({ url: database.engineUrl, name: 'test', connectionsMax: 2 });
  let time = 1_000_000;
  return {
    store: createCachePostgres(sql, { recordsMax: 1000, now: () => time }),
    pass: (ms) => void (time += ms),
    async close() {
      await sql.close();
      await database.close();
    },
  };
});
