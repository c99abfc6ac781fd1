// Handlers come and go behind Caddy without another configuration: a WebSocket that is open stays so, requests go where
// there is a handler, and each host keeps to one of them.
import assert from 'node:assert/strict';
import { createServer, get, type Server } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { openLog } from '#core/log/log.ts';
import { startCaddy, type Caddy } from '#runtime/edge/caddy.ts';
import { caddyConfig } from '#runtime/edge/caddy-config.ts';
import { openHandlers } from '#runtime/edge/handlers.ts';
import { freePort } from '#test/setup/free-port.ts';
import { until } from '#test/setup/until.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-edge-machines-'));
const servers: Server[] = [];
let caddy: Caddy | null = null;
let handlers: Awaited<ReturnType<typeof openHandlers>> | null = null;
after(async () => {
  await caddy?.stop();
  handlers?.close();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  rmSync(folder, { recursive: true, force: true });
});

/** A handler that says its name, and echoes over sockets that are upgraded. */
async function handler(name: string): Promise<{ readonly upstream: string; close(): void }> {
  const server = createServer((_, response) => response.end(name)).listen(0, '127.0.0.1');
  server.on('upgrade', (_, socket: Socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    socket.pipe(socket);
  });
  await once(server, 'listening');
  servers.push(server);
  return {
    upstream: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

test('a WebSocket stays open while handlers come and go, and no request is lost', async () => {
  const [one, two, three] = [await handler('one'), await handler('two'), await handler('three')];
  const port = await freePort();
  const log = openLog('edge', {}, { write: () => {} });
  handlers = await openHandlers({ folder, local: [one.upstream], log });
  const settings = {
    adminSocket: path.join(folder, 'admin.sock'),
    storage: folder,
    host: '127.0.0.1',
    httpPort: await freePort(),
    httpsPort: port,
    publicPort: 443,
    askUrl: 'http://127.0.0.1:9/',
    acme: { url: null, email: null, rootFile: null },
    files: [],
    renewalRatio: 0.3,
    handlers: [one.upstream],
    resolver: handlers.resolver,
    sites: [],
    trustedProxies: [],
    token: 'token',
  };
  caddy = await startCaddy({
    program: process.env['CADDY_BIN'] ?? 'caddy',
    config: withoutTls(settings),
    adminSocket: path.join(folder, 'admin.sock'),
    folder,
    onLine() {},
    onExit() {},
  });
  const ask = (host: string): Promise<string> =>
    new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, headers: { host }, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve(`${response.statusCode} ${text}`));
      }).on('error', reject);
    });
  const hosts = Array.from({ length: 24 }, (_, index) => `host${index}.example`);
  const spread = async (): Promise<string[]> => Promise.all(hosts.map(ask));
  assert.deepEqual(new Set(await spread()), new Set(['200 one']));

  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('utf8');
  socket.write('GET / HTTP/1.1\r\nHost: x.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  let received = '';
  let isClosed = false;
  socket.on('data', (text: string) => (received += text)).on('close', () => (isClosed = true));
  await until(() => received.includes('101 Switching'));
  const echoes = async (text: string): Promise<void> => {
    socket.write(text);
    await until(() => received.endsWith(text));
  };
  await echoes('first');

  const statuses: string[] = [];
  let isAsking = true;
  const asking = (async () => {
    for (let index = 0; isAsking; index++) statuses.push((await ask(hosts[index % hosts.length]!)).slice(0, 3));
  })();

  await handlers.set([one.upstream, two.upstream, three.upstream]);
  const first = await spread();
  assert.deepEqual(new Set(first), new Set(['200 one', '200 two', '200 three']));
  assert.deepEqual(await spread(), first, 'a host keeps to its handler');
  await echoes('second');

  // As when it drains: no new requests go there once this has resolved.
  await handlers.set([one.upstream, three.upstream]);
  assert.equal((await spread()).includes('200 two'), false);
  two.close();
  const less = await spread();
  for (const [index, answer] of first.entries()) if (answer !== '200 two') assert.equal(less[index], answer);
  // As when it is killed: Postgres does not know yet.
  three.close();
  assert.deepEqual(new Set(await spread()), new Set(['200 one']));
  await echoes('third');
  isAsking = false;
  await asking;
  assert.deepEqual([new Set(statuses), isClosed], [new Set(['200']), false]);

  // Why it is done this way: another configuration ends it.
  await caddy.load(withoutTls({ ...settings, renewalRatio: 0.4 }));
  await until(() => isClosed);
});

/** Certificates are not what this is about. */
function withoutTls(settings: Parameters<typeof caddyConfig>[0]): object {
  const config = caddyConfig(settings) as { apps: { http: { servers: { https: Record<string, unknown> } } } };
  const { https } = config.apps.http.servers;
  delete https['tls_connection_policies'];
  https['protocols'] = ['h1'];
  return config;
}
