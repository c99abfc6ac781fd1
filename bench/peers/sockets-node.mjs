// The select of workers/sockets.js in plain Node, over a pool of pg: `node sockets-node.mjs <url> <port>`.
import { createServer } from 'node:http';
import pg from 'pg';

const [, , url, port] = process.argv;
const pool = new pg.Pool({ connectionString: url, max: 16 });
let at = 0;
const server = createServer(async (request, response) => {
  const { rows } = await pool.query('SELECT id, text FROM item WHERE id = $1', [(at++ % 1000) + 1]);
  response.setHeader('content-type', 'application/json').end(JSON.stringify(rows));
});
server.listen(Number(port), '127.0.0.1');
