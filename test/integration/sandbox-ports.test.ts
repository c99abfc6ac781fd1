// Exposed ports of sandboxes on the platform as it runs in production: visitors of the public listener, an engine, the
// sandbox service, and servers in sandboxes that are strangers'.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type RequestOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { createBearerCheck } from '#core/process/bearer.ts';
import { createLocalBackend } from '#sandbox/backends/local/local.ts';
import { createExposedPorts } from '#sandbox/routes/exposed-ports.ts';
import { createSandboxRoutes } from '#sandbox/routes/routes.ts';
import { createMemoryPorts } from '#sandbox/service/exposed-ports-memory.ts';
import { createMemoryRows } from '#sandbox/service/rows-memory.ts';
import { startSandboxes } from '#sandbox/service/sandboxes.ts';
import { freePort } from '#test/setup/free-port.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

const TOKEN = 'fa02c1d4e5b6978812345678deadbeef';

const worker = `
export default {
  async fetch(request, env) {
    const run = new Function('BOX', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(env.BOX)) ?? null); }
    catch (error) { return Response.json({ name: error.name, code: error.code, message: error.message }); }
  },
};`;

/** Says what it sees of a request; what it does besides is in the path. */
const SERVER = `
const { createServer } = require('node:http');
const { WebSocketServer } = require(${JSON.stringify(fileURLToPath(import.meta.resolve('ws')))});
const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'two' });
const server = createServer(async (request, response) => {
  const { url, method, headers } = request;
  if (url.startsWith('/slow')) return;
  if (url.startsWith('/large')) return void response.end(Buffer.alloc(5e6, 7));
  if (url.startsWith('/endless')) {
    response.on('close', () => require('node:fs').writeFileSync('closed', 'yes'));
    return void response.write('begun');
  }
  if (url.startsWith('/redirect')) return void response.writeHead(302, { location: 'http://localhost:' + process.argv[2] + '/next' }).end();
  if (url.startsWith('/cookies')) return void response.writeHead(200, { 'set-cookie': ['own=1; Path=/', 'all=1; Domain=platform.test', 'platform-port=stolen'] }).end();
  if (url.startsWith('/huge')) return void response.writeHead(200, { 'x-huge': 'x'.repeat(60000) }).end();
  let body = 0;
  for await (const chunk of request) body += chunk.length;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ url, method, headers, body }));
});
server.on('upgrade', (request, socket, head) => {
  const { url, headers: { host, origin = null, cookie = null } } = request;
  if (url.startsWith('/refuse')) return void socket.end('HTTP/1.1 418 No\\r\\ncontent-length: 6\\r\\n\\r\\nno tea');
  if (url.startsWith('/garbage')) return void socket.end(Buffer.alloc(2000, 7));
  sockets.handleUpgrade(request, socket, head, (opened) => {
    opened.send(JSON.stringify({ url, host, origin, cookie }));
    opened.on('message', (data, isBinary) =>
      String(data) === 'close' ? opened.close(4001, 'as asked') : opened.send(data, { binary: isBinary }));
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1');
`;

let folder: string;
let platform: TestPlatform;
let port: number;
const times = { idleMs: 600_000, stopMs: 600_000, destroyMs: 600_000 };
let sandboxes: ReturnType<typeof startSandboxes>;
const service = createServer({ maxHeaderSize: 64 * 1024 });

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-ports-'));
  const rows = createMemoryRows({ provider: 'local', perProjectMax: 10, times });
  sandboxes = startSandboxes({
    backend: createLocalBackend({ folder, environment: process.env, warn: () => {} }),
    rows,
    times,
    leaseMs: 30_000,
    sweepMs: 30_000,
    perProjectMax: 10,
    report: () => {},
  });
  const routes = createSandboxRoutes({
    sandboxes,
    isAuthorized: createBearerCheck(TOKEN),
    callsMax: 100,
    ports: {
      exposed: createExposedPorts({ rows: createMemoryPorts(rows), sandboxes, secret: TOKEN }),
      visitsMax: 4,
      idleMs: 1000,
    },
    log: () => {},
  });
  service.on('request', routes).on('upgrade', routes.upgrade);
  await new Promise<void>((resolve) => void service.listen(0, '127.0.0.1', resolve));
  const address = service.address() as AddressInfo;
  platform = await startPlatform(
    {},
    { SANDBOX_URL: `http://127.0.0.1:${address.port}`, SANDBOX_AUTH_TOKEN: TOKEN, HANDLER_SPARES: '0' },
  );
  await platform.deploy('shop', worker, 'sandbox:\n  BOX: boxes\n');
  await until(async () => (await run('return 1;')) === 1);
  port = await freePort();
  await run(`
    const box = BOX.get('web');
    await box.writeFile('server.cjs', ${JSON.stringify(SERVER)});
    await box.startProcess(['node', 'server.cjs', '${port}'], { processId: 'web' });
    await box.waitForPort(${port});`);
});
after(async () => {
  await platform.close();
  service.closeAllConnections();
  service.close();
  await sandboxes.close();
  await rm(folder, { recursive: true, force: true });
});

const run = async (code: string): Promise<never> =>
  (await platform.fetch('shop', '/', { method: 'POST', body: code })).json() as never;

interface Exposed {
  readonly url: string;
  readonly port: number;
  readonly name: string | null;
  readonly auth: string;
  readonly token?: string;
}

const expose = (options = '', of = String(port)): Promise<Exposed> =>
  run(`return BOX.get('web').exposePort(${of}${options});`);

/** A visitor's request to an address that a worker was given. */
async function visit(
  url: string,
  path: string,
  { body, ...options }: RequestOptions & { body?: string | Uint8Array } = {},
): Promise<IncomingMessage> {
  const outgoing = request({
    ...options,
    host: '127.0.0.1',
    port: platform.port,
    path,
    setHost: false,
    headers: { host: new URL(url).host, ...(options.headers as Record<string, string>) },
    agent: false,
  });
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  outgoing.on('error', () => {});
  answer.on('error', () => {});
  return answer;
}

const jsonOf = async (answer: IncomingMessage): Promise<Record<string, never>> =>
  JSON.parse(await text(answer)) as never;

test('a port has an address of its own, which stays the same, and is listed and taken back', async () => {
  const exposed = await expose(`, { name: 'preview' }`);
  assert.match(exposed.url, /^http:\/\/port---[a-z2-7]{16}\.[a-z.]+(?::\d+)?\/$/);
  assert.deepEqual(
    { ...exposed, url: '', token: typeof exposed.token },
    { url: '', port, name: 'preview', auth: 'token', token: 'string' },
  );
  assert.deepEqual(await expose(`, { name: 'preview' }`), exposed);
  assert.deepEqual(await run(`return BOX.get('web').listExposedPorts();`), [exposed]);
  assert.deepEqual(await run(`return BOX.get('another').listExposedPorts();`), []);
  assert.equal(
    (await visit(exposed.url, '/', { headers: { 'x-platform-port-token': exposed.token! } })).statusCode,
    200,
  );

  await run(`await BOX.get('web').unexposePort(${port});`);
  const gone = await visit(exposed.url, '/', { headers: { 'x-platform-port-token': exposed.token! } });
  assert.equal(gone.statusCode, 404);
  assert.deepEqual(await jsonOf(gone), {
    error:
      'No exposed port has this address: it was revoked, or its sandbox was deleted. Call exposePort for the current address',
    code: 'sandbox_port_unknown',
  });
  assert.deepEqual(await run(`return BOX.get('web').listExposedPorts();`), []);
  assert.notEqual((await expose()).url, exposed.url);
});

test('the server sees a request to localhost, whole, and nothing by which the platform knows a visitor', async () => {
  const { url, token } = await expose();
  const origin = url.slice(0, -1);
  const answer = await visit(url, '/a%20b?c=d&token=of-the-app', {
    method: 'PUT',
    body: 'twelve bytes',
    headers: {
      origin,
      referer: `${origin}/form?token=${token}&e=f`,
      cookie: `theme=dark; platform-port=${token}; lang=en`,
      authorization: 'Basic b3du',
      'x-platform-port-token': token!,
      'x-platform-protection-bypass': 'secret',
      'x-forwarded-for': '192.0.2.66',
      'proxy-authorization': 'Basic cHJveHk=',
    },
  });
  assert.equal(answer.statusCode, 200);
  assert.equal(answer.headers['x-robots-tag'], 'noindex');
  assert.deepEqual(await jsonOf(answer), {
    url: '/a%20b?c=d&token=of-the-app',
    method: 'PUT',
    body: 12,
    headers: {
      host: `localhost:${port}`,
      origin: `http://localhost:${port}`,
      referer: `http://localhost:${port}/form?e=f`,
      cookie: 'theme=dark; lang=en',
      authorization: 'Basic b3du',
      'x-forwarded-for': '127.0.0.1',
      'x-real-ip': '127.0.0.1',
      'cf-connecting-ip': '127.0.0.1',
      'x-platform-url': url,
      'content-length': '12',
      connection: 'close',
    },
  });
});

test('the token is given once in the address, and then by a cookie that no script reads', async () => {
  const { url, token } = await expose();
  const page = { accept: 'text/html,*/*' };
  const first = await visit(url, `/start?a=1&token=${token}&b=2`, { headers: page });
  assert.equal(first.statusCode, 307);
  assert.equal(first.headers.location, '/start?a=1&b=2');
  assert.equal(first.headers['referrer-policy'], 'no-referrer');
  assert.equal(first.headers['cache-control'], 'no-store');
  const [cookie] = first.headers['set-cookie']!;
  assert.equal(cookie, `platform-port=${token}; Path=/; HttpOnly; Max-Age=604800; SameSite=Lax`);
  const second = await visit(url, '/start?a=1&b=2', { headers: { ...page, cookie: cookie!.split(';')[0]! } });
  assert.equal(second.statusCode, 200);
  // A program without cookies is served at once.
  const program = await jsonOf(await visit(url, `/data?token=${token}`));
  assert.equal(program['url'], '/data');
  const twice = await visit(url, `//evil.example/?token=${token}`, { headers: page });
  assert.equal(twice.headers.location, '/evil.example/');
});

test('whoever has no token, or a guessed one, or that of another port, comes no further than its name', async () => {
  const { url, token } = await expose();
  const other = await expose('', '81');
  const refused = async (path: string, headers: Record<string, string> = {}): Promise<unknown> => {
    const answer = await visit(url, path, { headers });
    return [answer.statusCode, answer.headers['x-platform-error'], (await text(answer)).includes(token!)];
  };
  const guesses = ['', 'x', token!.slice(0, -1), `${token}x`, other.token!, 'ü'.repeat(200), TOKEN];
  for (const guess of guesses) {
    const value = encodeURIComponent(guess);
    assert.deepEqual(await refused(`/?token=${value}`), [401, 'sandbox_port_locked', false]);
    assert.deepEqual(await refused('/', { cookie: `platform-port=${value}` }), [401, 'sandbox_port_locked', false]);
    assert.deepEqual(await refused('/', { 'x-platform-port-token': value }), [401, 'sandbox_port_locked', false]);
  }
  const page = await visit(url, '/', { headers: { accept: 'text/html' } });
  assert.match(await text(page), /<h1>This port requires its token: send it once as \?token= in the URL/);
  await run(`await BOX.get('web').unexposePort(81);`);
});

test('a public port wants no token, and may become one that does', async () => {
  const { url, token } = await expose(`, { auth: 'public' }`);
  assert.equal(token, undefined);
  assert.equal((await visit(url, '/')).statusCode, 200);
  await expose();
  assert.equal((await visit(url, '/')).statusCode, 401);
});

test('an answer keeps to the host of its port: addresses of its own, and cookies of nobody else', async () => {
  const { url } = await expose(`, { auth: 'public' }`);
  assert.equal((await visit(url, '/redirect')).headers.location, `${url}next`);
  assert.deepEqual((await visit(url, '/cookies')).headers['set-cookie'], ['own=1; Path=/']);
});

test('large bodies pass both ways, and a visitor who leaves is seen by the server', async () => {
  const { url } = await expose(`, { auth: 'public' }`);
  let bytes = 0;
  for await (const chunk of await visit(url, '/large')) bytes += (chunk as Buffer).length;
  assert.equal(bytes, 5_000_000);
  const sent = await jsonOf(await visit(url, '/', { method: 'POST', body: new Uint8Array(3_000_000) }));
  assert.equal(sent['body'], 3_000_000);
  const endless = await visit(url, '/endless');
  endless.destroy();
  assert.equal(
    await run(`return (await BOX.get('web').exec('until test -e closed; do sleep 0.02; done; cat closed')).stdout;`),
    'yes',
  );
});

test('what does not answer, or answers garbage or too much, is told as such', async () => {
  const { url } = await expose(`, { auth: 'public' }`);
  const refused = async (at: string, path: string): Promise<unknown> => {
    const answer = await visit(at, path);
    return [answer.statusCode, (await jsonOf(answer))['error']];
  };
  assert.deepEqual(await refused(url, '/slow'), [
    502,
    `Port ${port} of the sandbox cannot be reached: nothing came within 1000 ms`,
  ]);
  assert.deepEqual(await refused(url, '/huge'), [
    502,
    `Port ${port} of the sandbox cannot be reached: the headers of its answer are too large`,
  ]);
  const nobody = await freePort();
  const closed = await expose(`, { auth: 'public' }`, String(nobody));
  assert.deepEqual(await refused(closed.url, '/'), [
    502,
    `Port ${nobody} of the sandbox cannot be reached: nothing listens there`,
  ]);
  await run(`
    await BOX.get('web').startProcess(['node', '-e', 'require("net").createServer((s) => s.on("error", () => {}).end("HTTP/1.1 200\\\\0\\\\r\\\\n\\\\r\\\\n")).listen(${nobody}, "127.0.0.1")']);
    await BOX.get('web').waitForPort(${nobody});`);
  assert.deepEqual(await refused(closed.url, '/'), [
    502,
    `Port ${nobody} of the sandbox cannot be reached: it does not answer with valid HTTP (HPE_INVALID_STATUS)`,
  ]);
});

/** A visitor's WebSocket. */
function socketTo(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  protocols: string[] = [],
): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${platform.port}${path}`, protocols, {
    headers: { host: new URL(url).host, ...headers },
  });
}

/** Status and code of a handshake that was refused. */
async function refusalOf(socket: WebSocket): Promise<unknown> {
  socket.on('error', () => {});
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  return [answer.statusCode, (await jsonOf(answer))['code']];
}

test('a WebSocket passes both ways, by the same token, with the protocol that the server chose', async () => {
  const { url, token } = await expose();
  const origin = url.slice(0, -1);
  const socket = socketTo(url, `/hmr?token=${token}&a=1`, { origin }, ['one', 'two']);
  const [first] = (await once(socket, 'message')) as [Buffer];
  assert.deepEqual(JSON.parse(first.toString()), {
    url: '/hmr?a=1',
    host: `localhost:${port}`,
    origin: `http://localhost:${port}`,
    cookie: null,
  });
  assert.equal(socket.protocol, 'two');
  for (const message of ['text', Buffer.from([0, 255]), 'x'.repeat(200_000)]) {
    socket.send(message);
    const [echo, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
    assert.equal(isBinary, typeof message !== 'string');
    assert.ok(echo.equals(Buffer.from(message as string)));
  }
  const closed = once(socket, 'close');
  socket.send('close');
  const [code, reason] = (await closed) as [number, Buffer];
  assert.deepEqual([code, reason.toString()], [4001, 'as asked']);
  const byCookie = socketTo(url, '/hmr', { cookie: `a=b; platform-port=${token}` });
  const [second] = (await once(byCookie, 'message')) as [Buffer];
  assert.equal((JSON.parse(second.toString()) as { cookie: unknown }).cookie, 'a=b');
  byCookie.close();
});

test('a WebSocket that may not be opened is refused as a request is, and one that is silent ends', async () => {
  const { url, token } = await expose();
  assert.deepEqual(await refusalOf(socketTo(url, '/hmr')), [401, 'sandbox_port_locked']);
  assert.deepEqual(await refusalOf(socketTo(url, '/hmr?token=guessed')), [401, 'sandbox_port_locked']);
  const name = 'a'.repeat(16);
  assert.deepEqual(await refusalOf(socketTo(url.replace(/[a-z2-7]{16}/, name), '/')), [404, 'sandbox_port_unknown']);
  const nobody = await expose(`, { auth: 'public' }`, String(await freePort()));
  assert.deepEqual(await refusalOf(socketTo(nobody.url, '/')), [502, 'port_unreachable']);
  const refused = socketTo(url, `/refuse?token=${token}`);
  refused.on('error', () => {});
  const [, answer] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage];
  assert.deepEqual([answer.statusCode, await text(answer)], [418, 'no tea']);
  const garbage = socketTo(url, `/garbage?token=${token}`);
  assert.deepEqual(await refusalOf(garbage), [502, 'port_unreachable']);
  const silent = socketTo(url, `/hmr?token=${token}`);
  const [code] = (await once(silent, 'close')) as [number];
  assert.equal(code, 1011);
});

test('requests of one project at a time are bounded', async () => {
  const { url } = await expose(`, { auth: 'public' }`);
  const open = await Promise.all(Array.from({ length: 4 }, () => visit(url, '/endless')));
  const fifth = await visit(url, '/');
  assert.equal(fifth.statusCode, 429);
  assert.match(
    String((await jsonOf(fifth))['error']),
    /^Another open request to exposed ports of this project would exceed 4$/,
  );
  for (const one of open) one.destroy();
});

test('a visit wakes a sandbox that sleeps, and a destroyed one has no addresses', async () => {
  const { url } = await expose(`, { auth: 'public' }`);
  await run(`await BOX.get('web').suspend();`);
  assert.equal((await visit(url, '/')).statusCode, 200);
  assert.equal(((await run(`return BOX.get('web').info();`)) as { state: string }).state, 'running');
  await run(`await BOX.get('web').destroy();`);
  assert.equal((await visit(url, '/')).statusCode, 404);
  assert.equal(await run(`return BOX.get('web').info();`), null);
  await run(`await BOX.get('web').exec('true');`);
  assert.equal((await visit(url, '/')).statusCode, 404);
});

test('arguments that cannot be used are refused by name', async () => {
  for (const [code, message] of [
    [`exposePort(0)`, 'The port must be a whole number from 1 to 65535'],
    [`exposePort(80, { auth: 'open' })`, 'auth must be "token" or "public"'],
    [`exposePort(80, { name: 'x'.repeat(64) })`, 'The name of a port has 64 characters, and may have 63'],
  ])
    assert.deepEqual(await run(`await BOX.get('odd').${code};`), {
      name: 'SandboxError',
      code: 'invalid_argument',
      message,
    });
  for (let at = 0; at < 20; at++) await run(`await BOX.get('odd').exposePort(${8000 + at});`);
  assert.deepEqual(await run(`await BOX.get('odd').exposePort(9000);`), {
    name: 'SandboxError',
    code: 'sandbox_limit',
    message: 'Another exposed port of this sandbox would exceed 20',
  });
  const { statusCode } = await visit('http://port---aaaaaaaaaaaaaaaa.localhost/', '/');
  assert.equal(statusCode, 404);
  assert.equal(
    (await visit('http://port---aaaaaaaaaaaaaaaa.elsewhere.example/', '/')).headers['x-platform-error'],
    'host_not_found',
  );
});
