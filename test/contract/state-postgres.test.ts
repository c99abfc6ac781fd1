// State over Postgres, as the role that engines have.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStatePostgres } from '#runtime/stores/state-postgres.ts';
import { openPostgresSql } from '#runtime/stores/sql-postgres.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { stateStoreContract } from './state-store.ts';

test('a write that the database refuses fails alone among those that came with it', async () => {
  const database = await createTestDatabase();
  const sql = openPostgresSql({ url: database.engineUrl, name: 'test' });
  const store = createStatePostgres(sql);
  const place = { namespace: 'shop', resource: 'carts' };
  const put = async (key: string): Promise<unknown> =>
    store.put(place, key, { value: key, metadata: null, expiresAt: null }, 1);
  const results = await Promise.allSettled([put('a'), put('b\0'), put('c'), store.delete(place, 'd\0'), put('e')]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
  );
  const found = await store.get(place, ['a', 'c', 'e'], 1);
  assert.deepEqual(
    found.map((record) => record?.value),
    ['a', 'c', 'e'],
  );
  await sql.close();
  await database.close();
});

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
