// Runs the loops of web-api.bench.ts on Node's own globals.
// node web-api.mjs web-api <port>
import { createServer } from 'node:http';
import { answer } from '../workers/web-api-loops.ts';

createServer(async (incoming, response) => {
  const { searchParams } = new URL(incoming.url, 'http://localhost');
  response.end(JSON.stringify(await answer(searchParams)));
}).listen(Number(process.argv[3]), '127.0.0.1');
