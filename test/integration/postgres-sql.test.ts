// The control plane's connections to Postgres when the server ends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyRows } from '#postgres/copy-rows.ts';
import { openSql } from '#postgres/sql.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';

test('a transaction whose connection the server has ended is rejected, and the pool goes on', async (t) => {
  const database = await createTestDatabase();
  const sql = openSql({ url: database.url, name: 'test', connectionsMax: 3 });
  const other = openSql({ url: database.url, name: 'test other', connectionsMax: 1 });
  t.after(async () => {
    await Promise.all([sql.end({ timeout: 1 }), other.end({ timeout: 1 })]);
    await database.close();
  });
  for (let round = 0; round < 3; round++) {
    const failed = sql.begin(async (tx) => {
      const [{ pid }] = (await tx`SELECT pg_backend_pid() AS pid`) as unknown as [{ pid: number }];
      await other`SELECT pg_terminate_backend(${pid})`;
      await until(async () => (await other`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid}`).length === 0);
      // The end of the connection is heard.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await tx`SELECT 1`;
    });
    await assert.rejects(failed);
    assert.deepEqual(
      await Promise.all([1, 2, 3, 4].map(async (n) => (await sql<{ n: number }[]>`SELECT ${n}::int AS n`)[0]!.n)),
      [1, 2, 3, 4],
    );
  }
});

test(
  'a COPY of what a column does not take is rejected, and the connection goes on',
  { timeout: 20_000 },
  async (t) => {
    const database = await createTestDatabase();
    const sql = openSql({ url: database.url, name: 'test', connectionsMax: 1 });
    t.after(async () => {
      await sql.end({ timeout: 1 });
      await database.close();
    });
    await sql`CREATE TABLE item (n smallint)`;
    await assert.rejects(
      sql.begin((tx) => copyRows(tx, 'item', ['n'], [[1], [100_000]])),
      /out of range for type smallint/,
    );
    await sql.begin((tx) => copyRows(tx, 'item', ['n'], [[1], [2]]));
    assert.equal((await sql`SELECT * FROM item`).length, 2);
  },
);
