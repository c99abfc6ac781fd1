// Connections to Postgres, over a real server: values both ways, errors, transactions, connections that are lost,
// servers that are away or talk nonsense, TLS.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { inspect } from 'node:util';
import { openPostgres, type ConnectionOptions, type Postgres, type Statements } from '#postgres/connection.ts';
import { openListener } from '#postgres/listener.ts';
import { isConnectionError } from '#postgres/postgres-error.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { until } from '#test/setup/until.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
const pools: Postgres[] = [];
const servers: Server[] = [];

before(async () => {
  database = await createTestDatabase();
});
after(async () => {
  await Promise.all(pools.map((pool) => pool.close(0)));
  for (const server of servers) server.close();
  await database.close();
});

function open(options: Partial<ConnectionOptions> = {}): Postgres {
  const pool = openPostgres({ url: database.url, name: 'test', ...options });
  pools.push(pool);
  return pool;
}

/** A server on TCP, and the URL by which the test's database is asked through it. */
async function listen(onSocket: (socket: Socket) => void): Promise<string> {
  const server = createServer(onSocket).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const url = new URL(database.url);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return url.href;
}

function socketOf(url: string): string {
  return `${new URL(url).searchParams.get('host')}/.s.PGSQL.5432`;
}

test('values of all types that stores use come back as they went', async () => {
  const sql = open();
  const text = 'Grüße, 漢字 🙂 '.repeat(100);
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const [row] = await sql.all(
    `SELECT $1::text AS text, $2::bytea AS bytes, $3::bigint AS big, $4::int AS small, $5::boolean AS yes, $6::text AS nothing,
       $7::jsonb AS json, 1.5::float8 AS float, sum(2::numeric) AS numeric, ''::text AS empty`,
    text,
    bytes,
    -9007199254740991,
    7,
    true,
    null,
    '{"a":[1]}',
  );
  assert.deepEqual(row, {
    text,
    bytes: Buffer.from(bytes),
    big: -9007199254740991,
    small: 7,
    yes: true,
    nothing: null,
    json: { a: [1] },
    float: 1.5,
    numeric: '2',
    empty: '',
  });
  for (const big of [0, 1, -1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53 - 1, 1_700_000_000_000, -4294967297])
    assert.deepEqual(await sql.all('SELECT $1::bigint AS big', big), [{ big }]);
  const megabytes = 'x'.repeat(3 * 1024 * 1024);
  assert.deepEqual(await sql.all('SELECT $1::text AS t', megabytes), [{ t: megabytes }]);
});

test('lists go as arrays, with their order, nulls and bytes', async () => {
  const sql = open();
  const rows = await sql.all(
    'SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::boolean[]) AS u (t, n, b, f)',
    ['a "quoted", {text} \\ ', null, 'ü'],
    [1, 2 ** 40, null],
    [Buffer.from([0, 255]), null, Buffer.alloc(0)],
    [true, false, null],
  );
  assert.deepEqual(rows, [
    { t: 'a "quoted", {text} \\ ', n: 1, b: Buffer.from([0, 255]), f: true },
    { t: null, n: 2 ** 40, b: null, f: false },
    { t: 'ü', n: null, b: Buffer.alloc(0), f: null },
  ]);
  assert.deepEqual(await sql.all('SELECT cardinality($1::text[]) AS n', []), [{ n: 0 }]);
});

test('a statement that fails says why and nothing else, and the connection serves the next', async () => {
  const sql = open({ connectionsMax: 1 });
  const [before] = await sql.all('SELECT pg_backend_pid() AS pid');
  await assert.rejects(sql.all('SELECT 1/$1::int AS n', 0), { code: '22012' });
  await assert.rejects(sql.all('SELECT nonsense'), { code: '42703' });
  await assert.rejects(sql.all('SELECT $1::bigint', '1.5'), { code: '22P02' });
  await assert.rejects(sql.all('SELECT $1::text', 'a\0b'), { code: '22021' });
  await assert.rejects(sql.all('SELECT $1::int', [1]), { code: '22P02' });
  await sql.all('CREATE TABLE unique_secret (value text PRIMARY KEY)');
  await sql.all('INSERT INTO unique_secret VALUES ($1)', 'hunter2');
  const error = await sql.all('INSERT INTO unique_secret VALUES ($1)', 'hunter2').catch((reason: unknown) => reason);
  assert.equal((error as { code: string }).code, '23505');
  assert.equal(inspect(error, { depth: 9, showHidden: true }).includes('hunter2'), false);
  assert.deepEqual(await sql.all('SELECT pg_backend_pid() AS pid'), [before]);
  assert.deepEqual(await sql.all('SELECT 1 AS n WHERE false'), []);
});

test('a statement whose tables have changed runs with a new plan', async () => {
  const sql = open({ connectionsMax: 1 });
  await sql.all('CREATE TABLE changing (a int)');
  await sql.all('INSERT INTO changing VALUES (1)');
  assert.deepEqual(await sql.all('SELECT * FROM changing'), [{ a: 1 }]);
  await sql.all("ALTER TABLE changing ADD b text DEFAULT 'x'");
  for (let times = 0; times < 3; times++) assert.deepEqual(await sql.all('SELECT * FROM changing'), [{ a: 1, b: 'x' }]);
});

test('a statement is prepared once for all that run it, under the settings of its session', async () => {
  const sql = open({ connectionsMax: 1, schema: 'pg_catalog', settings: { plan_cache_mode: 'force_generic_plan' } });
  for (const n of [1, 2, 3]) assert.deepEqual(await sql.all('SELECT $1::int AS n', n), [{ n }]);
  const text = 'SELECT generic_plans AS plans FROM pg_prepared_statements WHERE statement = $1';
  assert.deepEqual(await sql.all(text, 'SELECT $1::int AS n'), [{ plans: 3 }]);
  const settings = `SELECT current_setting('search_path') AS path, current_setting('TimeZone') AS zone,
    current_setting('statement_timeout') AS timeout, current_setting('application_name') AS name`;
  assert.deepEqual(await sql.all(settings), [{ path: 'pg_catalog', zone: 'UTC', timeout: '30s', name: 'test' }]);
});

test('more statements than connections wait for their turn', async () => {
  const sql = open({ connectionsMax: 3 });
  const rows = await Promise.all(Array.from({ length: 200 }, (_, n) => sql.all('SELECT $1::int AS n', n)));
  assert.deepEqual(
    rows.map(([row]) => row),
    Array.from({ length: 200 }, (_, n) => ({ n })),
  );
});

test('more texts than are kept prepared run all the same', async () => {
  const sql = open({ connectionsMax: 1 });
  for (let n = 0; n < 900; n++) assert.deepEqual(await sql.all(`SELECT ${n} AS n`), [{ n }]);
  assert.deepEqual(await sql.all('SELECT count(*)::int < 500 AS few FROM pg_prepared_statements'), [{ few: true }]);
});

test('a transaction is whole, or nothing of it is left', async () => {
  const sql = open({ connectionsMax: 1 });
  await sql.all('CREATE TABLE whole (n int UNIQUE)');
  const insert = 'INSERT INTO whole VALUES ($1)';
  await sql.transaction(async (on) => void (await on.all(insert, 1), await on.all(insert, 2)));
  await assert.rejects(
    sql.transaction(async (on) => {
      await on.all(insert, 3);
      throw new Error('changed my mind');
    }),
    /changed my mind/,
  );
  await assert.rejects(
    sql.transaction(async (on) => void (await on.all(insert, 4), await on.all(insert, 1))),
    { code: '23505' },
  );
  // Who does not hear of a failure must not believe in the end that it was written.
  await assert.rejects(
    sql.transaction(async (on) => void (await on.all(insert, 5), await on.all(insert, 1).catch(() => {}))),
    { code: '25P02' },
  );
  assert.deepEqual(await sql.all('SELECT n FROM whole ORDER BY n'), [{ n: 1 }, { n: 2 }]);
});

test('a connection that the server ends is told, and the next statement has another', async () => {
  const sql = open({ connectionsMax: 1 });
  const owner = open();
  const pidOf = async (on: Statements): Promise<number> =>
    (await on.all<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]!.pid;
  const end = (pid: number): Promise<unknown> => owner.all('SELECT pg_terminate_backend($1)', pid);
  const pid = await pidOf(sql);
  const running = sql.all('SELECT pg_sleep(60)');
  const isAsleep = `SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`;
  while ((await owner.all(isAsleep, pid)).length === 0);
  await Promise.all([assert.rejects(running, { code: '57P01' }), end(pid)]);
  assert.deepEqual(await sql.all('SELECT 2 AS n'), [{ n: 2 }]);
  await assert.rejects(
    sql.transaction(async (on) => {
      await end(await pidOf(on));
      await on.all('SELECT 3');
    }),
    (error) => isConnectionError(error),
  );
  // Nobody uses it when it ends.
  const idle = await pidOf(sql);
  await end(idle);
  await until(async () => {
    const now = await pidOf(sql).catch(() => idle);
    return now !== idle;
  });
});

test('a statement that takes too long is ended', async () => {
  await assert.rejects(open({ statementMs: 20 }).all('SELECT pg_sleep(60)'), { code: '57014' });
});

test('a database that is not there, or refuses the password, is told to all who wait, without the password', async () => {
  const url = await listen(() => {});
  servers.at(-1)!.close();
  const away = open({ url, connectionsMax: 2 });
  const results = await Promise.allSettled(Array.from({ length: 9 }, () => away.all('SELECT 1')));
  assert.deepEqual(
    results.map((result) => (result.status === 'rejected' ? (result.reason as { code: string }).code : 'no error')),
    Array.from({ length: 9 }, () => 'ECONNREFUSED'),
  );
  await assert.rejects(
    away.transaction(async () => {}),
    { code: 'ECONNREFUSED' },
  );
  const wrong = new URL(database.url);
  wrong.password = 'swordfish';
  const refused = await open({ url: wrong.href })
    .all('SELECT 1')
    .catch((reason: unknown) => reason);
  assert.equal((refused as { code: string }).code, '28P01');
  assert.equal(inspect(refused, { depth: 9, showHidden: true }).includes('swordfish'), false);
  const silent = await listen((socket) => socket.end());
  await assert.rejects(open({ url: silent }).all('SELECT 1'), { code: 'CONNECTION_CLOSED' });
  await assert.rejects(open({ url: `${silent}?sslmode=verify-full` }).all('SELECT 1'), { code: 'CONNECTION_CLOSED' });
});

test('a database that does not answer is told to all who wait at once', async () => {
  let asked = 0;
  const url = await listen((socket) => void (asked++, socket.on('error', () => {}).resume()));
  const silent = open({ url, connectionsMax: 1, connectMs: 50 });
  const results = await Promise.allSettled(Array.from({ length: 200 }, () => silent.all('SELECT 1')));
  assert.deepEqual(
    new Set(results.map((result) => (result.status === 'rejected' ? (result.reason as { code: string }).code : ''))),
    new Set(['CONNECT_TIMEOUT']),
  );
  assert.ok(asked < 100);
});

test('closing lets what runs end for a moment, and nobody waits for ever', async () => {
  const sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  const short = sql.all('SELECT pg_sleep(0.05), 1 AS n');
  const closed = sql.close();
  assert.equal((await short)[0]!['n'], 1);
  await closed;
  await assert.rejects(sql.all('SELECT 1'), { code: 'CONNECTION_ENDED' });
  const stuck = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  await stuck.all('SELECT 1');
  const results = Promise.allSettled([stuck.all('SELECT pg_sleep(60)'), stuck.all('SELECT 1'), stuck.all('SELECT 2')]);
  await stuck.close(20);
  assert.deepEqual(
    (await results).map((result) =>
      result.status === 'rejected' ? (result.reason as { code: string }).code : 'no error',
    ),
    ['CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_ENDED'],
  );
});

test('a server that offers no TLS is spoken to in the clear only where that is allowed', async () => {
  const seen: Buffer[] = [];
  const url = await listen((socket) =>
    socket.on('data', (chunk: Buffer) => (seen.push(chunk), socket.write('N'))).on('error', () => {}),
  );
  for (const mode of ['require', 'allow', 'verify-ca', 'verify-full', 'anything']) {
    await assert.rejects(open({ url: `${url}?sslmode=${mode}` }).all('SELECT 1'), { code: 'CONNECTION_CLOSED' });
    assert.equal(Buffer.concat(seen.splice(0)).length, 8, mode);
  }
  // The server of the test has no TLS either.
  const place = socketOf(database.url);
  const real = await listen((client) => {
    const server = connect(place);
    client.on('error', () => server.destroy()).on('close', () => server.destroy());
    server.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.pipe(server).pipe(client);
  });
  const preferring = open({ url: `${real}?sslmode=prefer` });
  const rows = await Promise.all([1, 2, 3].map((n) => preferring.all('SELECT $1::int AS n', n)));
  assert.deepEqual(rows, [[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]]);
  await (await openListener({ url: `${real}?sslmode=prefer`, name: 'test' }, 'some_words', () => {})).close();
  await assert.rejects(open({ url: `${real}?sslmode=require` }).all('SELECT 1'), { code: 'CONNECTION_CLOSED' });
});

test('who listens goes on listening when the connection is lost', async () => {
  const sql = open();
  const heard: string[] = [];
  const listener = await openListener({ url: database.url, name: 'test words' }, 'some_words', (payload) =>
    heard.push(payload),
  );
  await sql.all('SELECT pg_notify($1, $2)', 'some_words', 'one');
  await until(() => heard.includes('one'));
  const ended =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test words' AND datname = current_database()";
  assert.equal((await sql.all(ended)).length, 1);
  await until(async () => {
    await sql.all('SELECT pg_notify($1, $2)', 'some_words', 'two');
    return heard.includes('two');
  });
  await listener.close();
  const url = await listen(() => {});
  servers.at(-1)!.close();
  await assert.rejects(
    openListener({ url, name: 'test words' }, 'some_words', () => {}),
    { code: 'ECONNREFUSED' },
  );
});

test('a server of another protocol ends the connection with an error, never the process', async () => {
  const answers = [
    'HTTP/1.1 400 Bad Request\r\n\r\n',
    '-ERR unknown command\r\n',
    'SSH-2.0-OpenSSH_9.2\r\n',
    '\x15\x03\x01\0\x02\x02\x46',
    'N',
    '',
  ];
  let answer = '';
  const url = await listen((socket) => socket.on('error', () => {}).once('data', () => socket.end(answer, 'latin1')));
  for (answer of answers)
    for (const query of ['', '?sslmode=require', '?sslmode=prefer'])
      await assert.rejects(
        open({ url: url + query }).all('SELECT 1'),
        { code: /^(?:CONNECTION_CLOSED|ECONN\w+|ERR_SSL\w+)$/ },
        answer + query,
      );
});

test('an answer that is cut off anywhere is an error, and the next statement has another connection', async () => {
  const random = createSeededRandom();
  const place = socketOf(database.url);
  let left = Infinity;
  const url = await listen((client) => {
    const server = connect(place);
    client.on('error', () => server.destroy()).on('close', () => server.destroy());
    server.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.pipe(server);
    server.on('data', (chunk: Buffer) => {
      // In any pieces.
      for (let at = 0; at < chunk.length && left > 0;) {
        const piece = chunk.subarray(at, at + Math.min(left, 1 + random.below(40)));
        client.write(piece);
        at += piece.length;
        left -= piece.length;
      }
      if (left === 0) client.destroySoon();
    });
    client.setNoDelay(true);
  });
  const sql = open({ url, connectionsMax: 1 });
  const [text, rows] = ['SELECT n, repeat($1, n) AS t FROM generate_series(1, 3) AS n', 3];
  for (let round = 0; round < 60; round++) {
    left = Infinity;
    assert.equal((await until(() => sql.all(text, 'x').catch(() => null))).length, rows, `seed ${random.seed}`);
    left = random.below(100);
    await assert.rejects(sql.all(text, 'x'), (error) => isConnectionError(error), `seed ${random.seed}`);
  }
});
