// The control plane's connections to Postgres when the server ends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
