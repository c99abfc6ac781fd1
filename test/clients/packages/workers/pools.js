// pg and postgres over pools of the platform (`hyperdrive` in platform.yaml).
import { connect as netConnect } from 'node:net';
import pg from 'pg';
import postgres from 'postgres';

/** What `connect` of `cloudflare:sockets` calls. */
const { tcpConnect: connect } = globalThis[Symbol.for('platform.node')];

const later = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));

/** A client of one request. */
async function withClient(env, work, options = {}) {
  const client = new pg.Client({ connectionString: env.PG.connectionString, ...options });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

const codeOf = (promise) =>
  promise.then(
    () => 'done',
    ({ code, message }) => code ?? message,
  );

const actions = {
  async pg(env) {
    return withClient(env, async (client) => {
      const { rows } = await client.query('SELECT $1::int + 1 AS sum, current_user AS account', [41]);
      await client.query('CREATE TEMP TABLE notes (id serial, body text)');
      await client.query('BEGIN');
      await client.query('INSERT INTO notes (body) VALUES ($1)', ['rolled back']);
      await client.query('ROLLBACK');
      await client.query('BEGIN');
      await client.query('INSERT INTO notes (body) VALUES ($1), ($2)', ['one', 'two']);
      await client.query('COMMIT');
      const kept = await client.query('SELECT body FROM notes ORDER BY id');
      const prepared = [];
      for (const id of [2, 3])
        prepared.push(
          (await client.query({ name: 'by-id', text: 'SELECT body FROM notes WHERE id = $1', values: [id] })).rows[0]
            ?.body,
        );
      const failed = await client.query('SELECT nothing').catch(({ code }) => code);
      await client.query('LISTEN news');
      const notified = later(client, 'notification');
      await client.query("NOTIFY news, 'hello'");
      const { channel, payload } = await notified;
      const big = await client.query("SELECT repeat('x', 3000000) AS text");
      return {
        sum: rows[0].sum,
        kept: kept.rows.map(({ body }) => body),
        prepared,
        failed,
        news: [channel, payload],
        big: big.rows[0].text.length,
      };
    });
  },
  async postgres(env) {
    const sql = postgres(env.PG.connectionString, { max: 2, onnotice() {} });
    try {
      const [{ sum }] = await sql`SELECT ${41}::int + 1 AS sum`;
      const names = await sql.begin(async (tx) => {
        await tx`CREATE TEMP TABLE people (name text, born date)`;
        await tx`INSERT INTO people ${tx([
          { name: 'Ada', born: '1815-12-10' },
          { name: 'Alan', born: '1912-06-23' },
        ])}`;
        return (await tx`SELECT name FROM people ORDER BY name`).map(({ name }) => name);
      });
      const failed = await sql`SELECT nothing`.catch(({ code }) => code);
      const { promise, resolve } = Promise.withResolvers();
      await sql.listen('news', resolve);
      await sql.notify('news', 'hello');
      const cursor = [];
      for await (const rows of sql`SELECT * FROM generate_series(1, 5) AS n`.cursor(2)) cursor.push(rows.length);
      return { sum, names, failed, news: await promise, cursor };
    } finally {
      await sql.end();
    }
  },
  /** The server's process: the same one, when a connection is used again. */
  pid: (env) => withClient(env, async (client) => (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid),
  /** What a session leaves behind, and the process that it had. */
  leave: (env) =>
    withClient(env, async (client) => {
      await client.query(
        "SET application_name = 'left behind'; SET search_path = pg_catalog; SET ROLE pg_read_all_data",
      );
      await client.query('CREATE TEMP TABLE left_behind (id int)');
      await client.query('PREPARE left_behind AS SELECT 1');
      await client.query('LISTEN left_behind');
      await client.query('SELECT pg_advisory_lock(42)');
      return (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    }),
  /** What a session finds of others. */
  find: (env) =>
    withClient(env, async (client) => {
      const { rows } = await client.query(`SELECT pg_backend_pid() AS pid, current_user = session_user AS own,
        current_setting('application_name') AS name, current_setting('search_path') AS path,
        to_regclass('pg_temp.left_behind') AS temporary, (SELECT count(*)::int FROM pg_prepared_statements) AS prepared,
        (SELECT count(*)::int FROM pg_listening_channels()) AS listening,
        (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks`);
      return rows[0];
    }),
  /** Ends within a transaction. */
  open: (env) =>
    withClient(env, async (client) => {
      await client.query('BEGIN');
      await client.query('CREATE TABLE IF NOT EXISTS never_committed (id int)');
      return (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    }),
  many: (env) =>
    Promise.all(
      Array.from({ length: 24 }, (_, at) =>
        withClient(env, async (client) => (await client.query('SELECT $1::int AS at', [at])).rows[0].at),
      ),
    ),
  settings: (env) =>
    withClient(
      env,
      async (client) =>
        (
          await client.query(
            "SELECT current_setting('application_name') AS name, current_setting('work_mem') AS memory",
          )
        ).rows[0],
      { application_name: 'shop', options: '-c work_mem=5MB' },
    ),
  cancel: (env) =>
    withClient(env, async (client) => {
      const slept = codeOf(client.query('SELECT pg_sleep(600)'));
      const { processID, secretKey } = client;
      const request = Buffer.alloc(16);
      [16, 80877102, processID, secretKey].forEach((value, at) => request.writeInt32BE(value, at * 4));
      const socket = env.PG.connect();
      const writer = socket.writable.getWriter();
      await writer.write(request);
      await socket.readable.getReader().read();
      return slept;
    }),
  describe(env) {
    const { host, ip, port, user, database, password, connectionString } = env.PG;
    const expected = `postgresql://${user}:${password}@${host}:${port}/${database}?sslmode=disable`;
    return {
      isHost: /^[0-9a-f]{32}\.hyperdrive\.local$/.test(host) && host === env.PG.host,
      ip,
      port,
      fits: connectionString === expected,
      isSecret: /^[0-9a-f]{32}$/.test(password),
      variable: [typeof env.DATABASE_URL, typeof env.vars.DATABASE_URL, typeof process.env.DATABASE_URL],
    };
  },
  async ways(env) {
    const greeting = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
    const answers = [];
    for (const address of [{ hostname: env.PG.host, port: 5432 }, `${env.PG.ip}:5432`]) {
      const socket = connect(address);
      await socket.writable.getWriter().write(greeting);
      const { value } = await socket.readable.getReader().read();
      answers.push(String.fromCharCode(...value));
      await socket.close();
    }
    const socket = netConnect({ host: env.PG.host, port: 5432 });
    socket.write(greeting);
    answers.push(String(await later(socket, 'data')));
    socket.destroy();
    try {
      connect({ hostname: env.PG.host, port: 5432 }, { secureTransport: 'on' });
    } catch ({ name }) {
      answers.push(name);
    }
    return answers;
  },
  wrong: (env, { searchParams }) =>
    codeOf(withClient({ PG: env[searchParams.get('binding')] }, (client) => client.query('SELECT 1'))),
  replication: (env) => codeOf(withClient(env, () => 1, { replication: 'database' })),
};

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const action = actions[url.pathname.slice(1)];
    return action === undefined ? new Response('?') : Response.json(await action(env, url));
  },
};
