// Bare uWebSockets.js doing what the worker of the same name does: the least that a handler on it can cost.
// node uws.mjs <hello|json> <port>
import { createRequire } from 'node:module';

const [scenario, port] = process.argv.slice(2);
const uws = createRequire(import.meta.url)('uWebSockets.js');

// Headers are read, as every server of workers has to.
function readHeaders(request) {
  let block = '';
  request.forEach((name, value) => {
    block += `${name}\0${value}\0`;
  });
  return block;
}

function hello(response, request) {
  readHeaders(request);
  response.writeHeader('content-type', 'text/plain;charset=UTF-8');
  response.end('Hello World');
}

function json(response, request) {
  readHeaders(request);
  const url = new URL(`http://localhost${request.getUrl()}?${request.getQuery() ?? ''}`);
  response.writeHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({
      message: `Hello ${url.searchParams.get('name') ?? 'nobody'}`,
      items: [1, 2, 3],
      nested: { path: 'a/b', ok: true, none: null },
    }),
  );
}

uws
  .App()
  .any('/*', scenario === 'json' ? json : hello)
  .listen('127.0.0.1', Number(port), () => {});
