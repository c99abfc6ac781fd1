// Requests and events to a server of an ssr project, over the whole platform; test/ssr/ goes deeper.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { WebSocket } from 'ws';
import { deliver } from '#test/setup/events.ts';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { SSR, ssrApp } from '#test/setup/ssr-app.ts';
import { until } from '#test/setup/until.ts';

const { test, before, after } = testsUnless(await serverFenceMissing());

const { request } = process.getBuiltinModule('node:http');

const client = path.join(import.meta.dirname, '../../../packages/dev');
const clientFiles = Object.fromEntries(
  readdirSync(client)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [`client/${name}`, readFileSync(path.join(client, name), 'utf8')]),
);

/** Each route shows one thing. The WebSocket echo is written out: the test's server has no packages. */
const ROUTES = `
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createEventRoute } from './client/index.ts';
const seen = [];
const take = createEventRoute({
  message: ({ payload }) => void seen.push(['message', payload]),
  timer: ({ payload }) => void seen.push(['timer', payload]),
  scheduled({ name }) {
    seen.push(['scheduled', name]);
    throw new Error('not today');
  },
  workflows: {
    orders: async ({ input }) => void seen.push(['workflow', input]),
  },
});
const route = async (request, response) => {
  const { method, url, headers } = request;
  const answer = await take(new Request('http://app' + url, { method, headers, body: Readable.toWeb(request), duplex: 'half' }));
  response.writeHead(answer.status);
  Readable.fromWeb(answer.body).pipe(response);
};
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
  '/__platform/message': route,
  '/__platform/timer': route,
  '/__platform/scheduled': route,
  '/__platform/workflow': route,
  '/seen': (request, response) => response.end(JSON.stringify(seen)),
  '/address': (request, response) => response.end(process.env.PLATFORM_APP_URL),
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

const thief = `export default {
  async fetch(request) {
    const { url, ...init } = await request.json();
    const answer = await fetch(url, init);
    return new Response(answer.status + ' ' + (await answer.text()));
  },
};`;

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({}, { LOG_LEVEL: 'debug', HANDLER_SPARES: '0' });
  await platform.deploy('app', '', `${SSR}cache:\n  KV: pages\nqueue: { JOBS: jobs }\n`, {
    ...ssrApp(ROUTES),
    ...clientFiles,
  });
  await platform.deploy('thief', thief, '');
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
    error: 'The server of this deployment closed the connection',
    code: 'server_lost',
  });
});

test('messages, timers, schedules and runs of workflows come to the route of the server, and what it throws is told', async () => {
  assert.equal(await deliver(platform, 'app', 'queue', 'one'), 'ok');
  assert.equal(await deliver(platform, 'app', 'timer', 'two'), 'ok');
  assert.equal(await deliver(platform, 'app', 'cron', 'three'), 'worker_threw');
  assert.equal(await deliver(platform, 'app', 'workflow', 'four'), 'ok');
  assert.deepEqual((await platform.fetch('app', '/seen')).json(), [
    ['message', 'one'],
    ['timer', 'two'],
    ['scheduled', 'three'],
    ['workflow', 'four'],
  ]);
});

test('neither a visitor nor a worker of another project gets events in, or reaches the server past its gates', async () => {
  const visitor = await platform.fetch('app', '/__platform/message', { method: 'POST', body: '{}' });
  assert.deepEqual([visitor.status, visitor.text], [401, '{"error":"Only the platform can call this route"}']);
  const { text: url } = await platform.fetch('app', '/address');
  assert.match(url, /^http:\/\/d[0-9a-z]+\.app\.app\.platform\.internal$/);
  for (const init of [
    { url: `${url}/seen` },
    { url: `${url}/__platform/message`, method: 'POST', body: '{}' },
    { url: `${url}/__platform/../seen`, headers: { authorization: 'Bearer x' } },
    { url: 'http://nobody.app.platform.internal/__platform/message', headers: { authorization: 'Bearer x' } },
  ]) {
    const { text } = await platform.fetch('thief', '/', { method: 'POST', body: JSON.stringify(init) });
    assert.match(text, /^404 .*(?:No deployment is served at|Deployment .* was not found)/s, init.url);
  }
  assert.equal(((await platform.fetch('app', '/seen')).json() as unknown[]).length, 4);
});

test('one that ends at its start is left alone for a while, and visitors hear when to come again', async () => {
  await platform.deploy('broken', '', SSR, ssrApp(`throw new Error('no database');`));
  const { status, headers, text } = await until(async () => {
    const answer = await platform.fetch('broken');
    return answer.status === 404 ? null : answer;
  });
  assert.equal(status, 503);
  assert.equal((JSON.parse(text) as Record<string, unknown>)['code'], 'server_start_failed');
  assert.ok(Number(headers['retry-after']) >= 1);
  await platform.logged(({ msg }) => /^Server not started: .*exit code 1.*Error: no database/.test(String(msg)));
  await until(async () =>
    /^platform_server_starts_total\{.*outcome="failed".*\} 1$/m.test((await platform.ask('/metrics')).text),
  );
});
