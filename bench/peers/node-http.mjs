// Bare node:http doing what the worker of the same name does: the least that a handler on node:http can cost.
// node node-http.mjs <hello|json> <port>
import { createServer } from 'node:http';

const [scenario, port] = process.argv.slice(2);

function hello(_request, response) {
  response.writeHead(200, { 'content-type': 'text/plain;charset=UTF-8', 'content-length': 11 });
  response.end('Hello World');
}

function json(request, response) {
  const name = new URL(request.url, 'http://localhost').searchParams.get('name') ?? 'nobody';
  const body = JSON.stringify({ message: `Hello ${name}`, items: [1, 2, 3], nested: { path: 'a/b', ok: true, none: null } });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

createServer(scenario === 'json' ? json : hello).listen(Number(port), '127.0.0.1');
