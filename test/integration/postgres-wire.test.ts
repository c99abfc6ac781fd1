// The lean connections to Postgres, over a real server: values both ways, errors, connections that are lost, bytes in any pieces, and
// servers that talk nonsense.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { openPostgres, splitUrl } from '#postgres/connection.ts';
import { openWire, type Wire, type WireOptions } from '#postgres/wire.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
const wires: Wire[] = [];
const servers: Server[] = [];

before(async () => {
  database = await createTestDatabase();
});
after(async () => {
  await Promise.all(wires.map((wire) => wire.close()));
  for (const server of servers) server.close();
  await database.close();
});

function open(options: Partial<WireOptions> = {}): Wire {
  const wire = openWire({ url: database.url, name: 'test', ...options });
  wires.push(wire);
  return wire;
}

/** A server on TCP, and the URL by which the test's database is asked through it. */
async function listen(onSocket: (socket: Socket) => void): Promise<string> {
  const server = createServer(onSocket).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const url = new URL(splitUrl(database.url).address);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return url.href;
}

test('values of all types that stores use come back as they went', async () => {
  const wire = open();
  const text = 'Grüße, 漢字 🙂 '.repeat(100);
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const [row] = await wire.all(
    `SELECT $1::text AS text, $2::bytea AS bytes, $3::bigint AS big, $4::int AS small, $5::boolean AS yes, $6::text AS nothing,
       $7::jsonb AS json, 1.5::float8 AS float, sum(2::numeric) AS numeric, ''::text AS empty`,
    [text, bytes, -9007199254740991, 7, true, null, '{"a":[1]}'],
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
    assert.deepEqual(await wire.all('SELECT $1::bigint AS big', [big]), [{ big }]);
});

test('lists go as arrays, with their order, nulls and bytes', async () => {
  const wire = open();
  const rows = await wire.all('SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::boolean[]) AS u (t, n, b, f)', [
    ['a "quoted", {text}', null, 'ü'],
    [1, 2 ** 40, null],
    [Buffer.from([0, 255]), null, Buffer.alloc(0)],
    [true, false, null],
  ]);
  assert.deepEqual(rows, [
    { t: 'a "quoted", {text}', n: 1, b: Buffer.from([0, 255]), f: true },
    { t: null, n: 2 ** 40, b: null, f: false },
    { t: 'ü', n: null, b: Buffer.alloc(0), f: null },
  ]);
  assert.deepEqual(await wire.all('SELECT cardinality($1::text[]) AS n', [[]]), [{ n: 0 }]);
});

test('a statement that fails says why, and the connection serves the next', async () => {
  const wire = open({ connectionsMax: 1 });
  await assert.rejects(wire.all('SELECT 1/$1::int AS n', [0]), { code: '22012' });
  await assert.rejects(wire.all('SELECT nonsense', []), { code: '42703' });
  await assert.rejects(wire.all('SELECT $1::bigint', ['1.5']), { code: '22P02' });
  await assert.rejects(wire.all('SELECT $1::text', ['a\0b']), { code: '22021' });
  await assert.rejects(wire.all('SELECT $1::int', []), { name: 'TypeError' });
  await assert.rejects(wire.all('SELECT $1::int', [[1]]), { name: 'TypeError' });
  assert.deepEqual(await wire.all('SELECT 1 AS n', []), [{ n: 1 }]);
  assert.deepEqual(await wire.all('SELECT 1 AS n WHERE false', []), []);
});

test('a statement whose tables have changed runs with a new plan', async () => {
  const wire = open({ connectionsMax: 1 });
  await wire.all('CREATE TABLE changing (a int)', []);
  await wire.all('INSERT INTO changing VALUES (1)', []);
  assert.deepEqual(await wire.all('SELECT * FROM changing', []), [{ a: 1 }]);
  await wire.all("ALTER TABLE changing ADD b text DEFAULT 'x'", []);
  assert.deepEqual(await wire.all('SELECT * FROM changing', []), [{ a: 1, b: 'x' }]);
});

test('more statements than connections wait for their turn', async () => {
  const wire = open({ connectionsMax: 3 });
  const rows = await Promise.all(Array.from({ length: 200 }, (_, n) => wire.all('SELECT $1::int AS n', [n])));
  assert.deepEqual(
    rows.map(([row]) => row),
    Array.from({ length: 200 }, (_, n) => ({ n })),
  );
});

test('more texts than are kept prepared run all the same', async () => {
  const wire = open({ connectionsMax: 1 });
  for (let n = 0; n < 900; n++) assert.deepEqual(await wire.all(`SELECT ${n} AS n`, []), [{ n }]);
  assert.deepEqual(await wire.all('SELECT count(*)::int < 500 AS few FROM pg_prepared_statements', []), [{ few: true }]);
});

test('a connection that the server ends is told, and the next statement has another', async () => {
  const wire = open({ connectionsMax: 1 });
  const owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  const [{ pid } = { pid: 0 }] = await wire.all<{ pid: number }>('SELECT pg_backend_pid() AS pid', []);
  const running = wire.all('SELECT pg_sleep(60)', []);
  const isAsleep = async (): Promise<boolean> =>
    (await owner`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND wait_event = 'PgSleep'`).length === 1;
  while (!(await isAsleep()));
  await owner`SELECT pg_terminate_backend(${pid})`;
  await assert.rejects(running, { code: '57P01' });
  assert.deepEqual(await wire.all('SELECT 2 AS n', []), [{ n: 2 }]);
  await owner.end();
});

test('a statement that takes too long is ended', async () => {
  const wire = open({ statementMs: 20 });
  await assert.rejects(wire.all('SELECT pg_sleep(60)', []), { code: '57014' });
});

test('a database that is not there, or refuses the password, is told to all who wait', async () => {
  const url = await listen(() => {});
  servers.at(-1)!.close();
  const away = open({ url });
  for (const result of await Promise.allSettled([away.all('SELECT 1', []), away.all('SELECT 1', [])]))
    assert.equal(result.status === 'rejected' && (result.reason as { code: string }).code, 'ECONNREFUSED');
  const wrong = new URL(database.url);
  wrong.password = 'wrong';
  await assert.rejects(open({ url: wrong.href }).all('SELECT 1', []), { code: '28P01' });
  const silent = await listen((socket) => socket.end());
  await assert.rejects(open({ url: `${silent}?sslmode=verify-full` }).all('SELECT 1', []), { code: 'CONNECTION_CLOSED' });
});

test('a server that offers no TLS is not spoken to in the clear where TLS is wanted', async () => {
  const seen: Buffer[] = [];
  const url = await listen((socket) => socket.on('data', (chunk: Buffer) => (seen.push(chunk), socket.write('N'))));
  await assert.rejects(open({ url: `${url}?sslmode=require` }).all('SELECT 1', []), { code: 'CONNECTION_CLOSED' });
  assert.equal(Buffer.concat(seen).length, 8);
});

test('whatever pieces its bytes come in, an answer is the same', async () => {
  const random = createSeededRandom();
  const { socketFolder } = splitUrl(database.url);
  const url = await listen((client) => {
    const server = connect(`${socketFolder}/.s.PGSQL.5432`);
    client.on('error', () => server.destroy()).on('close', () => server.destroy());
    server.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('data', (chunk) => server.write(chunk));
    server.on('data', (chunk: Buffer) => {
      let at = 0;
      const next = (): void => {
        const bytes = random.below(2) === 0 ? 1 + random.below(12) : 1 + random.below(5000);
        client.write(chunk.subarray(at, (at += bytes)));
        if (at < chunk.length) setImmediate(next);
        else server.resume();
      };
      server.pause();
      next();
    });
    client.setNoDelay(true);
  });
  const wire = open({ url, connectionsMax: 2 });
  for (let round = 0; round < 40; round++) {
    const length = random.below(400);
    const texts = Array.from({ length: 1 + random.below(20) }, (_, n) => `${n}`.repeat(length));
    const rows = await wire.all<{ t: string }>('SELECT t FROM unnest($1::text[]) AS u (t)', [texts]);
    assert.deepEqual(
      rows.map(({ t }) => t),
      texts,
      `seed ${random.seed}`,
    );
  }
  const megabytes = 'x'.repeat(3 * 1024 * 1024);
  assert.deepEqual(await open().all('SELECT $1::text AS t', [megabytes]), [{ t: megabytes }]);
});

test('a server that talks nonsense ends the connection with an error, never the process', async () => {
  const random = createSeededRandom();
  const letters = 'RSZTDCEKNtn12Gv3X';
  const url = await listen((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      const bytes = Buffer.from(Array.from({ length: 5 + random.below(60) }, () => random.below(256)));
      if (random.below(5) > 0) bytes[0] = letters.charCodeAt(random.below(letters.length));
      if (random.below(5) > 0) bytes.writeInt32BE(4 + random.below(bytes.length - 4), 1);
      socket.end(bytes);
    });
  });
  // Each round has a pool of its own: after a failure, the next attempt of a pool waits.
  for (let round = 0; round < 150; round++) await assert.rejects(open({ url }).all('SELECT 1', []), Error, `seed ${random.seed}`);
});
