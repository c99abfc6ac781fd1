// State over Postgres, as the role that engines have.
import { createStatePostgres } from '#runtime/stores/state-postgres.ts';
import { openPostgresSql } from '#runtime/stores/sql-postgres.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { stateStoreContract } from './state-store.ts';

stateStoreContract(async () => {
  const database = await createTestDatabase();
  const sql = openPostgresSql({ url: database.engineUrl, name: 'test' });
  return {
    store: createStatePostgres(sql),
    async close() {
      await sql.close();
      await database.close();
    },
  };
});
