// The control plane's connections to Postgres when the server ends them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { copyRows } from '#postgres/copy-rows.ts';
import { openSql, type Sql } from '#postgres/sql.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { until } from '#test/setup/until.ts';

/** A pool of connections over a socket that sees each of them. @param see what a client writes; true: it is reset. */
async function openSeen(
  t: TestContext,
  connectionsMax: number,
  see: (bytes: Buffer, client: Socket) => boolean,
): Promise<Sql> {
  const database = await createTestDatabase();
  const { searchParams, port } = new URL(database.url);
  const path = `${searchParams.get('host')}/.s.PGSQL.${port || 5432}`;
  const server = createServer((client) => {
    const upstream = connect(path);
    client.on('data', (bytes) => {
      if (see(bytes, client)) client.resetAndDestroy();
      else upstream.write(bytes);
    });
    upstream.pipe(client);
    for (const socket of [client, upstream])
      socket.on('error', () => {}).on('close', () => (client.destroy(), upstream.destroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new URL(database.url);
  address.search = '';
  address.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sql = openSql({ url: address.href, name: 'test', connectionsMax });
  t.after(async () => {
    await sql.end({ timeout: 1 });
    server.close();
    await database.close();
  });
  return sql;
}

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

test('a statement whose connection ends while it reads its types is rejected, and the next one is answered', async (t) => {
  let cuts = 2;
  const sql = await openSeen(t, 1, (bytes) => bytes.includes('pg_catalog.pg_type') && cuts-- > 0);
  for (let round = 0; round < 2; round++) await assert.rejects(sql`SELECT 1`, { code: 'ECONNRESET' });
  assert.deepEqual((await sql`SELECT array['a', 'b'] AS list`)[0], { list: ['a', 'b'] });
});

test('what a transaction asks after its connection has ended is not done over the next one', async (t) => {
  let isCut = false;
  const sql = await openSeen(t, 1, (bytes) => {
    const cuts = isCut && bytes.includes('cut here');
    if (cuts) isCut = false;
    return cuts;
  });
  await sql`CREATE TABLE item (n int)`;
  isCut = true;
  const asked = Promise.withResolvers<unknown>();
  await assert.rejects(
    sql.begin(async (tx) => {
      await tx`INSERT INTO item VALUES (1)`;
      await assert.rejects(tx`SELECT 'cut here'`);
      await sql`SELECT 1`;
      asked.resolve(await tx`INSERT INTO item VALUES (2)`.catch((error: { code: string }) => error.code));
    }),
    { code: 'CONNECTION_CLOSED' },
  );
  assert.equal(await asked.promise, 'CONNECTION_CLOSED');
  assert.equal((await sql`SELECT n FROM item`).length, 0);
});

test('no statement gets the answer of another one when connections end', async (t) => {
  const random = createSeededRandom();
  let writes = 0;
  const sql = await openSeen(t, 3, () => ++writes > 20 && random.below(20) === 0);
  let answered = 0;
  const ask = async (n: number): Promise<void> => {
    const statement = (on: Sql): Promise<unknown> =>
      on<{ n: number }[]>`SELECT ${n}::int AS n`.then((rows) => [...rows]);
    const inTransaction = sql.begin.bind(sql) as (run: (tx: unknown) => Promise<unknown>) => Promise<unknown>;
    try {
      const rows = await (n % 3 === 0 ? inTransaction((tx) => statement(tx as Sql)) : statement(sql));
      assert.deepEqual(rows, [{ n }], `seed ${random.seed}`);
      answered++;
    } catch (error) {
      if ((error as Error).name === 'AssertionError') throw error;
    }
  };
  for (let round = 0; round < 30; round++)
    await Promise.all(Array.from({ length: 10 }, (_, index) => ask(round * 10 + index)));
  assert.ok(answered > 100, String(answered));
});

test(
  'a COPY of what a column does not take is rejected, and the connection goes on',
  { timeout: 120_000 },
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

test('a connection that statements keep busy is replaced after its time, and none of them fails', async (t) => {
  const database = await createTestDatabase();
  const sql = openSql({ url: database.url, name: 'test', connectionsMax: 1, lifeSeconds: 0.2 });
  t.after(async () => {
    await sql.end({ timeout: 1 });
    await database.close();
  });
  const pid = async (): Promise<number> => (await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`)[0]!.pid;
  const first = await pid();
  await until(async () => (await pid()) !== first);
  const [inside, after] = await sql.begin(async (tx) => {
    const own = async (): Promise<number> => (await tx<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`)[0]!.pid;
    const began = await own();
    await tx`SELECT pg_sleep(0.4)`;
    return [began, await own()];
  });
  assert.equal(inside, after);
});
