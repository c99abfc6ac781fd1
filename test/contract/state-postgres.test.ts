// The state store of a handler in production.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresSql } from '#runtime/stores/sql-postgres.ts';
import { createStatePostgres } from '#runtime/stores/state-postgres.ts';
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

test('engines that update one key at the same time lose nothing', async () => {
  const database = await createTestDatabase();
  const engines = Array.from({ length: 3 }, () => openPostgresSql({ url: database.engineUrl, name: 'test' }));
  const place = { namespace: 'a', resource: 'b' };
  const count = (before: string | undefined): string => String(Number(before ?? 0) + 1);
  const stores = engines.map((sql) => createStatePostgres(sql));
  await Promise.all(Array.from({ length: 600 }, (_, index) => stores[index % 3]!.update(place, 'count', count, 1)));
  assert.equal((await stores[0]!.get(place, ['count'], 1))[0]?.value, '600');
  await Promise.all(engines.map((sql) => sql.close()));
  await database.close();
});
