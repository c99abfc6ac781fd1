// Bare node:http doing what the worker of the same name does: the least that a handler on node:http can cost.
// node node-http.mjs <scenario> <port>
import { createServer } from 'node:http';

const [scenario, port] = process.argv.slice(2);

function hello(_request, response) {
  response.writeHead(200, { 'content-type': 'text/plain;charset=UTF-8', 'content-length': 11 });
  response.end('Hello World');
}

function json(request, response) {
  const name = new URL(request.url, 'http://localhost').searchParams.get('name') ?? 'nobody';
  const body = JSON.stringify({
    message: `Hello ${name}`,
    items: [1, 2, 3],
    nested: { path: 'a/b', ok: true, none: null },
  });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function echo(request, response) {
  if (request.url.endsWith('/stream')) {
    response.writeHead(200, { 'content-type': 'text/plain' });
    request.pipe(response);
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.byteLength });
    response.end(body);
  });
}

/** Writes what `next` gives, null at its end, as fast as the client takes it. */
function pump(response, next) {
  for (let chunk = next(); chunk !== null; chunk = next()) {
    if (response.write(chunk)) continue;
    response.once('drain', () => pump(response, next));
    return;
  }
  response.end();
}

const chunk = new Uint8Array(64 * 1024).fill(120);

function stream(_request, response) {
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  let left = 160;
  pump(response, () => (left-- > 0 ? chunk : null));
}

function sse(_request, response) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let number = 0;
  pump(response, () =>
    number === 1000 ? null : `data: ${JSON.stringify({ number: number++, text: 'something happened' })}\n\n`,
  );
}

const server = createServer({ hello, json, echo, stream, sse, websocket: hello }[scenario]);
if (scenario === 'websocket') {
  const { WebSocketServer } = await import('ws');
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
    socket.on('message', (data, binary) => socket.send(data, { binary }));
  });
}
server.listen(Number(port), '127.0.0.1');
