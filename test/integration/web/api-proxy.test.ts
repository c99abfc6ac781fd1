// The way of a request from the dashboard's port to the API, on real sockets: what streams, what is taken off, who the
// client is, and what happens while the API is away.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createClientAddress } from '#control/http/client-address.ts';
import { serveApi } from '#control/process/servers.ts';
import { behindWeb, webClient } from '#control/process/web-proxy.ts';
import { defaultLimits, type WebLimits } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import { listen } from '#web/serve/listener.ts';
import { createApiProxy } from '#web/serve/api-proxy.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const log = openLog('test', { LOG_LEVEL: 'silent' });

/** The web process's port before an API at a port of this machine. */
async function openWeb(t: TestContext, port: number, limits: Partial<WebLimits> = {}): Promise<number> {
  const apiProxy = createApiProxy({
    api: { host: '127.0.0.1', port },
    token: TOKEN,
    limits: { ...defaultLimits.web, ...limits },
    log,
  });
  const web = await listen({
    host: '127.0.0.1',
    port: 0,
    variable: 'UI_PORT',
    log,
    answer: async (request, response) => apiProxy(request, response),
  });
  t.after(async () => {
    apiProxy.close();
    await web.close();
  });
  return web.port;
}

/** An API that answers as the test says. */
async function openApi(t: TestContext, answer: Parameters<typeof createServer>[1]): Promise<number> {
  const server: Server = createServer(answer!).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

test('events arrive one by one while the answer goes on, and the API hears when the client leaves', async (t) => {
  let next: (text: string) => void = () => {};
  let left: () => void = () => {};
  const gone = new Promise<void>((resolve) => (left = resolve));
  const api = await openApi(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    next = (text) => void response.write(`data: ${text}\n\n`);
    response.on('close', left);
  });
  const web = await openWeb(t, api);
  const sent = httpRequest({ port: web, path: '/api/logs' }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(answer.headers['content-type'], 'text/event-stream');
  for (const text of ['one', 'two']) {
    next(text);
    assert.equal(String((await once(answer, 'data'))[0]), `data: ${text}\n\n`);
  }
  sent.destroy();
  await gone;
});

test('an upload streams: the API has its beginning before the client has sent its end', async (t) => {
  let began: (bytes: number) => void = () => {};
  const first = new Promise<number>((resolve) => (began = resolve));
  const api = await openApi(t, (request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => began((bytes += chunk.length)));
    request.on('end', () => response.end(`${request.headers['transfer-encoding'] ?? 'none'} ${bytes}`));
  });
  const web = await openWeb(t, api);
  for (const method of ['POST', 'DELETE']) {
    const sent = httpRequest({ port: web, path: '/api/x', method, headers: { 'transfer-encoding': 'chunked' } });
    sent.write(randomBytes(70_000));
    assert.ok((await first) > 0);
    sent.end(randomBytes(30_000));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    assert.equal(String((await answer.toArray()).join('')), 'chunked 100000');
  }
});

test('headers of a connection stay on it, and cookies come back each by itself', async (t) => {
  let heard: IncomingMessage['headers'] = {};
  const api = await openApi(t, (request, response) => {
    heard = request.headers;
    response.writeHead(201, [
      'set-cookie',
      'a=1',
      'set-cookie',
      'b=2',
      'connection',
      'x-hop',
      'x-hop',
      '1',
      'x-end',
      '2',
    ]);
    response.end('{}');
  });
  const web = await openWeb(t, api);
  const sent = httpRequest({
    port: web,
    path: '/api/projects?x=%2F..',
    headers: {
      host: 'app.example.com',
      connection: 'keep-alive, x-mine',
      'x-mine': '1',
      te: 'trailers',
      'proxy-authorization': 'Basic eDp5',
      'x-platform-client': '203.0.113.7',
      'x-platform-web': 'guessed',
      'x-forwarded-for': '198.51.100.1',
    },
  }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  assert.equal(answer.statusCode, 201);
  assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
  assert.deepEqual([answer.headers['x-hop'], answer.headers['x-end']], [undefined, '2']);
  const names = 'host x-mine te proxy-authorization x-platform-client x-platform-web x-forwarded-for'.split(' ');
  assert.deepEqual(
    names.map((name) => heard[name]),
    ['app.example.com', undefined, undefined, undefined, '127.0.0.1', TOKEN, '198.51.100.1'],
  );
});

test('the API takes the word of who has the token on the client, and lets nobody else in', async (t) => {
  const clientAddress = createClientAddress(['127.0.0.0/8'], webClient);
  const api = await serveApi({
    port: 0,
    host: '127.0.0.1',
    fetch: behindWeb(TOKEN, (request) =>
      Response.json([clientAddress(request), request.headers.get('x-platform-web')]),
    ),
  });
  t.after(() => api.close());
  const web = await openWeb(t, api.port);
  const through = await fetch(`http://127.0.0.1:${web}/api/x`, {
    headers: { 'x-forwarded-for': '203.0.113.7, 198.51.100.1', 'x-platform-client': '192.0.2.1' },
  });
  assert.deepEqual(await through.json(), ['198.51.100.1', null]);
  for (const token of ['', 'guessed', `${TOKEN}0`]) {
    const past = await fetch(`http://127.0.0.1:${api.port}/api/x`, {
      headers: { 'x-platform-client': '192.0.2.1', ...(token !== '' && { 'x-platform-web': token }) },
    });
    assert.deepEqual([past.status, ((await past.json()) as { code: string }).code], [403, 'forbidden']);
  }
});

test('while the API is away the answer is 503 in its shape, and text for a page', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  const web = await openWeb(t, port);
  const answer = await fetch(`http://127.0.0.1:${web}/api/projects`, { method: 'POST', body: 'x'.repeat(100_000) });
  const { requestId, ...body } = (await answer.json()) as Record<string, string>;
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get('retry-after'), '2');
  assert.equal(answer.headers.get('x-request-id'), requestId);
  assert.deepEqual(body, { message: 'The API is starting or unavailable: try again in a moment', code: 'unavailable' });
  const page = await fetch(`http://127.0.0.1:${web}/api/auth/sign-in`, { headers: { accept: 'text/html' } });
  assert.equal(await page.text(), 'The API is starting or unavailable: try again in a moment\n');
});

test('an API that hangs up or does not begin to answer is a 502', async (t) => {
  const api = await openApi(t, (request) => {
    if (request.url === '/api/hang-up') request.socket.destroy();
  });
  const web = await openWeb(t, api, { answerMs: 50 });
  for (const path of ['/api/hang-up', '/api/silence']) {
    const answer = await fetch(`http://127.0.0.1:${web}${path}`);
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [502, 'unavailable']);
  }
});

test('a connection that the API has closed since is not felt by who reads', async (t) => {
  let asked = 0;
  const api = await openApi(t, (request, response) => {
    asked++;
    // Closed without a word after the second request has come on it.
    if (asked === 2) request.socket.destroy();
    else response.end(String(asked));
  });
  const web = await openWeb(t, api);
  assert.equal(await (await fetch(`http://127.0.0.1:${web}/api/x`)).text(), '1');
  assert.equal(await (await fetch(`http://127.0.0.1:${web}/api/x`)).text(), '3');
});

test('more requests than are passed on at a time are refused with 503', async (t) => {
  let release: () => void = () => {};
  let came: () => void = () => {};
  const running = new Promise<void>((resolve) => (came = resolve));
  const api = await openApi(t, (_request, response) => {
    release = () => response.end('done');
    came();
  });
  const web = await openWeb(t, api, { proxiedMax: 1 });
  const first = fetch(`http://127.0.0.1:${web}/api/x`);
  await running;
  const second = await fetch(`http://127.0.0.1:${web}/api/x`);
  assert.deepEqual(
    [second.status, ((await second.json()) as { message: string }).message],
    [503, 'Too many concurrent requests: try again'],
  );
  release();
  assert.equal(await (await first).text(), 'done');
});

test('two requests in one connection stay two, whatever their lengths claim', async (t) => {
  const heard: string[] = [];
  const api = await openApi(t, (request, response) => {
    heard.push(`${request.method} ${request.url}`);
    request.resume();
    response.end('ok');
  });
  const web = await openWeb(t, api);
  const hostile = [
    'POST /api/a HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /api/b HTTP/1.1\r\nhost: x\r\n\r\n',
    'POST /api/a HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef',
    'GET /api/a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked, x\r\n\r\n0\r\n\r\n',
    'DELETE /api/a HTTP/1.1\r\nhost: x\r\ncontent-length: +5\r\n\r\nabcde',
  ];
  for (const text of hostile) {
    const socket = connect(web, '127.0.0.1');
    socket.write(text);
    const answer = String((await socket.toArray()).join(''));
    assert.match(answer, /^HTTP\/1\.1 400 /);
  }
  assert.deepEqual(heard, []);
});
