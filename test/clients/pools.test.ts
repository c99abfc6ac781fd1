// Pools (`hyperdrive` in platform.yaml): pg and postgres in workers over connections that the engine keeps, against
// the embedded Postgres.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPostgresOnTcp, type TestPostgres } from '#test/setup/client-servers.ts';
import { startClients } from '#test/setup/client-workers.ts';
import { until } from '#test/setup/until.ts';
import { makeCertificate } from '#test/setup/smtp-server.ts';

let server: TestPostgres;
let worker: Awaited<ReturnType<typeof startClients>>;
const certificate = makeCertificate();

/** Waits until no session has a connection. */
const atRest = (): Promise<unknown> =>
  until(() => {
    const { connections, idleConnections } = worker.handler.engine.pooled.pools;
    return connections === idleConnections;
  });

before(async () => {
  server = await startPostgresOnTcp(certificate);
  const { user, password, database, port } = server;
  const url = (mode: string, host = 'localhost', word = password): string =>
    `postgres://${user}:${encodeURIComponent(word)}@${host}:${port}/${database}?sslmode=${mode}`;
  const vars = {
    DATABASE_URL: url('require'),
    PLAIN_URL: url('disable'),
    STRICT_URL: url('verify-full'),
    WRONG_URL: url('disable', 'localhost', 'wrong'),
    CLOSED_URL: `postgres://${user}@localhost:1/x`,
    PRIVATE_URL: `postgres://${user}@10.1.2.3:5432/x`,
    MAIL_URL: `postgres://${user}@localhost:25/x`,
    MYSQL_URL: 'mysql://root:word@localhost/x',
    TEXT_URL: 'no URL',
  };
  worker = await startClients('pools', vars, {
    yaml: `hyperdrive: { PG: DATABASE_URL, PLAIN: PLAIN_URL, STRICT: STRICT_URL, WRONG: WRONG_URL, CLOSED: CLOSED_URL,
  PRIVATE: PRIVATE_URL, MAIL: MAIL_URL, MYSQL: MYSQL_URL, TEXT: TEXT_URL, UNSET: NOT_SET_URL }\n`,
    limits: { poolConnectionsMax: 4 },
  });
});
after(async () => {
  await worker.handler.close();
  await server.close();
});

test('pg: queries, transactions, prepared statements, LISTEN and NOTIFY over a pool', async () => {
  assert.deepEqual(await worker.asked('/pg'), {
    sum: 42,
    kept: ['one', 'two'],
    prepared: ['one', 'two'],
    failed: '42703',
    news: ['news', 'hello'],
    big: 3_000_000,
  });
});

test('postgres: queries, transactions, cursors, LISTEN and NOTIFY over a pool', async () => {
  assert.deepEqual(await worker.asked('/postgres'), {
    sum: 42,
    names: ['Ada', 'Alan'],
    failed: '42703',
    news: 'hello',
    cursor: [2, 2, 1],
  });
});

test('a connection is used again, without anything that the session before left in it', async () => {
  await atRest();
  const first = await worker.asked('/leave');
  await atRest();
  const found = (await worker.asked('/find')) as Record<string, unknown>;
  const { pid, ...left } = found;
  assert.equal(pid, first);
  assert.deepEqual(left, {
    own: true,
    name: '',
    path: '"$user", public',
    temporary: null,
    prepared: 0,
    listening: 0,
    locks: 0,
  });
});

test('a session that ends in a transaction closes its connection: nothing of it is kept', async () => {
  const pid = await worker.asked('/open');
  await atRest();
  const next = await worker.asked('/pid');
  assert.notEqual(next, pid);
});

test('more sessions than connections wait for their turn', async () => {
  assert.deepEqual(
    await worker.asked('/many'),
    Array.from({ length: 24 }, (_, at) => at),
  );
  assert.ok(worker.handler.engine.pooled.pools.connections <= 4);
});

test('parameters of a session hold, and no other session gets them', async () => {
  assert.deepEqual(await worker.asked('/settings'), { name: 'shop', memory: '5MB' });
  const { name } = (await worker.asked('/find')) as Record<string, unknown>;
  assert.equal(name, '');
});

test('a query is cancelled with the key of its session, whose connection is not used again', async () => {
  assert.equal(await worker.asked('/cancel'), '57014');
});

test('env.PG has what clients take, and the variable is not in the worker', async () => {
  assert.deepEqual(await worker.asked('/describe'), {
    isHost: true,
    ip: '240.0.0.1',
    port: 5432,
    fits: true,
    isSecret: true,
    variable: ['undefined', 'undefined', 'undefined'],
  });
});

test('connect() of cloudflare:sockets and node:net reach the pool by its host and its address, without TLS', async () => {
  assert.deepEqual(await worker.asked('/ways'), ['N', 'N', 'N', 'TypeError']);
});

for (const [binding, answer] of [
  ['PLAIN', 'done'],
  ['STRICT', '08001'],
  ['WRONG', '28P01'],
  ['CLOSED', '08001'],
  ['PRIVATE', '08004'],
  ['MAIL', '08004'],
  ['MYSQL', 'pool_unavailable'],
  ['TEXT', 'pool_unavailable'],
  ['UNSET', 'pool_unavailable'],
])
  test(`a pool whose server is ${binding}: ${answer}`, async () => {
    assert.equal(await worker.asked(`/wrong?binding=${binding}`), answer);
  });

test('replication is refused', async () => {
  assert.equal(await worker.asked('/replication'), '08P01');
});

test('a server that cuts its connections is reached again', async () => {
  const pid = await worker.asked('/pid');
  await atRest();
  server.cut();
  await until(() => worker.handler.engine.pooled.pools.idleConnections === 0);
  assert.notEqual(await worker.asked('/pid'), pid);
});

test('connections end without use', async () => {
  const { user, password, database, port } = server;
  const vars = { DATABASE_URL: `postgres://${user}:${password}@localhost:${port}/${database}` };
  const yaml = 'hyperdrive: { PG: DATABASE_URL }\n';
  const other = await startClients('pools', vars, { yaml, limits: { poolIdleMs: 40 } });
  try {
    await other.asked('/pid');
    await until(() => other.handler.engine.pooled.pools.connections === 0);
  } finally {
    await other.handler.close();
  }
});
