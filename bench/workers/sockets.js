// A select by pg: over a pool if there is one, else by a connection of the request's own.
import pg from 'pg';

let at = 0;

export default {
  async fetch(request, env, ctx) {
    const client = new pg.Client({ connectionString: env.PG?.connectionString ?? env.vars.DATABASE_URL });
    await client.connect();
    try {
      const { rows } = await client.query('SELECT id, text FROM item WHERE id = $1', [(at++ % 1000) + 1]);
      return Response.json(rows);
    } finally {
      ctx.waitUntil(client.end());
    }
  },
};
