// Requests to a server of an ssr project, over the whole platform.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { SSR, ssrApp } from '#test/setup/ssr-app.ts';

const { request } = process.getBuiltinModule('node:http');

/** Each route shows one thing. The WebSocket echo is written out: the test's server has no packages. */
const ROUTES = `
import { createHash } from 'node:crypto';
const call = (body, token = process.env.PLATFORM_MOCK_SERVER_TOKEN) =>
  new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
    const socketPath = process.env.PLATFORM_MOCK_SERVER_URL.slice('unix:'.length);
    const asked = http.request({ socketPath, path: '/rpc', method: 'POST', headers }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve(answer.statusCode + ' ' + text));
    });
    asked.on('error', reject);
    asked.end(JSON.stringify(body));
  });
let gone = 0;
globalThis.routes = {
  '/slow': (request, response) => {
    response.write('first ');
    globalThis.release = () => response.end('second');
  },
  '/release': (request, response) => {
    globalThis.release();
    response.end('ok');
  },
  '/hangs': (request, response) => {
    response.write('begun');
    response.on('close', () => gone++);
  },
  '/gone': (request, response) => response.end(String(gone)),
  '/set': async (request, response) => response.end(await call({ binding: 'KV', method: 'set', args: ['key', 'kept'] })),
  '/get': async (request, response) => response.end(await call({ binding: 'KV', method: 'get', args: ['key'] })),
  '/wrong': async (request, response) => response.end(await call({ binding: 'KV', method: 'get', args: ['key'] }, 'f'.repeat(64))),
  '/log': (request, response) => {
    console.error('a line of the server');
    response.end('ok');
  },
  '/cuts': (request, response) => request.socket.destroy(),
};
setImmediate(() =>
  server.on('upgrade', (request, socket) => {
    const key = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11');
    if (request.url !== '/socket') return socket.end('HTTP/1.1 403 Forbidden\\r\\ncontent-length: 2\\r\\n\\r\\nno');
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: upgrade\\r\\nsec-websocket-accept: ' + key.digest('base64') + '\\r\\n\\r\\n');
    socket.on('data', (frame) => {
      if ((frame[0] & 15) === 8) return socket.end(Buffer.from([0x88, 2, frame[6] ^ frame[2], frame[7] ^ frame[3]]));
      const length = frame[1] & 127;
      const text = Buffer.from(frame.subarray(6, 6 + length).map((byte, at) => byte ^ frame[2 + (at % 4)]));
      socket.write(Buffer.concat([Buffer.from([0x81, length]), text]));
    });
  }),
);
`;

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({}, { LOG_LEVEL: 'debug' });
  await platform.deploy('app', '', `${SSR}cache:\n  KV: pages\n`, ssrApp(ROUTES));
  await platform.answers('app', 'hello from a server');
});
after(() => platform.close());

test('a body goes in and out as it is, with status and headers', async () => {
  const body = 'x'.repeat(300_000);
  const answer = await platform.fetch('app', '/echo', { method: 'POST', body, headers: { 'x-say': 'hi' } });
  assert.equal(answer.status, 201);
  assert.equal(answer.headers['x-said'], 'hi');
  assert.equal(answer.text, body);
});

test('its files are served before it', async () => {
  const { text, headers } = await platform.fetch('app', '/style.css');
  assert.equal(text, 'p { color: teal }');
  assert.match(headers['content-type'] ?? '', /text\/css/);
});

test('it hears the true host and client, and nothing that the client claims of them', async () => {
  const claims = { 'x-forwarded-for': '10.9.9.9', 'x-forwarded-proto': 'gopher', 'x-forwarded-host': 'evil.example' };
  const headers = (await platform.fetch('app', '/headers', { headers: claims })).json() as Record<string, string>;
  assert.equal(headers['host'], 'app.localhost');
  assert.equal(headers['x-forwarded-host'], 'app.localhost');
  assert.equal(headers['x-forwarded-proto'], 'http');
  assert.equal(headers['x-forwarded-for'], '127.0.0.1');
});

test('a response streams while it is made', async () => {
  const sent = request({
    host: '127.0.0.1',
    port: platform.port,
    path: '/slow',
    headers: { host: 'app.localhost' },
  }).end();
  const [response] = await once(sent, 'response');
  const chunks = response[Symbol.asyncIterator]();
  assert.equal(String((await chunks.next()).value), 'first ');
  await platform.fetch('app', '/release');
  assert.equal(String((await chunks.next()).value), 'second');
  assert.equal((await chunks.next()).done, true);
});

test('a client that goes away is gone for the server as well', async () => {
  const sent = request({
    host: '127.0.0.1',
    port: platform.port,
    path: '/hangs',
    headers: { host: 'app.localhost' },
  }).end();
  const [response] = await once(sent, 'response');
  await once(response, 'data');
  sent.on('error', () => {}).destroy();
  await platform.answers('app', '1', '/gone');
});

test('a WebSocket passes both ways, and a refused handshake is answered as the server does', async () => {
  const open = (path: string): WebSocket =>
    new WebSocket(`ws://127.0.0.1:${platform.port}${path}`, { headers: { host: 'app.localhost' } });
  const socket = open('/socket');
  await once(socket, 'open');
  socket.send('hello');
  const [data] = await once(socket, 'message');
  assert.equal(String(data), 'hello');
  socket.close(4001);
  const [code] = await once(socket, 'close');
  assert.equal(code, 4001);
  const refused = open('/other');
  refused.on('error', () => {});
  const [, response] = await once(refused, 'unexpected-response');
  assert.equal(response.statusCode, 403);
});

test('it calls its bindings with its token, and not without', async () => {
  assert.match((await platform.fetch('app', '/set')).text, /^200 /);
  assert.deepEqual((await platform.fetch('app', '/get')).text, '200 {"result":"kept"}');
  assert.match((await platform.fetch('app', '/wrong')).text, /^401 /);
});

test('what it writes is in the log of its deployment', async () => {
  const line = platform.logged(({ msg }) => msg === 'a line of the server');
  await platform.fetch('app', '/log');
  assert.equal((await line)['project'], 'app');
});

test('a connection that it cuts is 502, without what it was', async () => {
  const { status, text } = await platform.fetch('app', '/cuts');
  assert.equal(status, 502);
  assert.deepEqual(JSON.parse(text), {
    error: 'The server of this deployment cut the connection',
    code: 'server_lost',
  });
});
