// pg and postgres over sockets of a worker.
import pg from 'pg';
import postgres from 'postgres';

const later = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));

export default {
  async fetch(request, { vars }) {
    const { pathname, searchParams } = new URL(request.url);
    const options = {
      host: 'localhost',
      port: Number(searchParams.get('port')),
      user: vars.PG_USER,
      password: vars.PG_PASSWORD,
      database: vars.PG_DATABASE,
    };
    const ssl = searchParams.has('tls') ? { ca: vars.PG_CA } : false;
    if (pathname === '/pg') {
      const client = new pg.Client({ ...options, ssl });
      await client.connect();
      try {
        const { rows } = await client.query('SELECT $1::int + 1 AS sum, now() IS NOT NULL AS now', [41]);
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
        return Response.json({
          sum: rows[0].sum,
          kept: kept.rows.map(({ body }) => body),
          prepared,
          failed,
          news: [channel, payload],
          big: big.rows[0].text.length,
          secure: client.connection.stream.encrypted === true,
        });
      } finally {
        await client.end();
      }
    }
    if (pathname === '/pg-pool') {
      const pool = new pg.Pool({ ...options, max: 3 });
      const found = await Promise.all(Array.from({ length: 8 }, (_, at) => pool.query('SELECT $1::int AS at', [at])));
      await pool.end();
      return Response.json(found.map(({ rows }) => rows[0].at));
    }
    if (pathname === '/pg-wrong') {
      const client = new pg.Client({ ...options, password: 'wrong', ssl });
      return Response.json(
        await client.connect().then(
          () => 'connected',
          ({ code, message }) => code ?? message,
        ),
      );
    }
    if (pathname === '/postgres') {
      const sql = postgres({ ...options, max: 2, ssl, onnotice() {} });
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
        return Response.json({ sum, names, failed, news: await promise, cursor });
      } finally {
        await sql.end();
      }
    }
    return new Response('?');
  },
};
