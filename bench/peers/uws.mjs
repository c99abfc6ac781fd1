// Bare uWebSockets.js doing what the worker of the same name does: the least that a handler on it can cost.
// node uws.mjs <scenario> <port>
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

/** The whole body in both cases: to pass it on chunk by chunk would have to wait for the client. */
function echo(response, request) {
  readHeaders(request);
  const chunks = [];
  response.onAborted(() => {});
  if (request.getMethod() === 'get') {
    response.end('');
    return;
  }
  response.onData((chunk, isLast) => {
    chunks.push(isLast && chunks.length === 0 ? Buffer.from(chunk) : Buffer.from(chunk.slice(0)));
    if (!isLast) return;
    response.cork(() => {
      response.writeHeader('content-type', 'text/plain');
      response.end(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    });
  });
}

/** Writes what `next` gives, null at its end, as fast as the client takes it. */
function pump(response, type, next) {
  let gone = false;
  response.onAborted(() => (gone = true));
  response.writeHeader('content-type', type);
  const run = () => {
    for (let chunk = next(); chunk !== null && !gone; chunk = next()) if (!response.write(chunk)) return false;
    if (!gone) response.end();
    return true;
  };
  response.onWritable(() => {
    run();
    return true;
  });
  run();
}

const chunk = new Uint8Array(64 * 1024).fill(120);

function stream(response, request) {
  readHeaders(request);
  let left = 160;
  pump(response, 'application/octet-stream', () => (left-- > 0 ? chunk : null));
}

function sse(response, request) {
  readHeaders(request);
  let number = 0;
  pump(response, 'text/event-stream', () =>
    number === 1000 ? null : `data: ${JSON.stringify({ number: number++, text: 'something happened' })}\n\n`,
  );
}

const app = uws.App();
if (scenario === 'websocket') {
  app.ws('/*', {
    idleTimeout: 0,
    message(socket, data, isBinary) {
      socket.send(data, isBinary);
    },
  });
}
app
  .any('/*', { hello, json, echo, stream, sse, websocket: hello }[scenario])
  .listen('127.0.0.1', Number(port), () => {});
