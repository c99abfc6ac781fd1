// Three machines with handlers, over one Postgres, behind the edge of the first: they find each other, a deployment is
// live on all of them, one is drained without a lost request, and one is killed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Agent as Dispatcher, WebSocket } from 'undici';
import { EDGE_HEADER } from '#core/process/edge-proxy.ts';
import { freePort } from '#test/setup/free-port.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { send } from '#test/setup/send.ts';
import { until } from '#test/setup/until.ts';
import { startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

/** Each host is one machine's: with so many, each machine has some. */
const DOMAINS = Array.from({ length: 24 }, (_, index) => `d${index}.test`);
const CLIENTS = 4;
/** A request that nobody answers is a failure, not a wait. */
const SILENCE_MS = 20_000;

const code = (version: string): string => `
const isolate = crypto.getRandomValues(new Uint8Array(8)).join('-');
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/socket') {
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      server.addEventListener('message', ({ data }) => server.send(data === 'isolate' ? isolate : data));
      return new Response(null, { status: 101, webSocket: client });
    }
    if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 400));
    return new Response(pathname === '/isolate' ? isolate : ${JSON.stringify(version)});
  },
};`;

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let first: WholePlatform;
let second: TestPlatform;
let third: TestPlatform;
let httpsPort: number;
const secrets = Object.fromEntries(
  ['AUTH_SECRET', 'ENCRYPTION_KEY', 'ENGINE_SECRET', 'PRIVATE_PORT_TOKEN', 'DB_SERVICE_TOKEN', 'EDGE_TOKEN'].map(
    (name) => [name, randomBytes(32).toString('hex')],
  ),
);
const keys = mkdtempSync(path.join(tmpdir(), 'platform-machines-'));
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });

before(async () => {
  database = await createTestDatabase();
  const [certificate, key] = [path.join(keys, 'certificate.pem'), path.join(keys, 'key.pem')];
  const names = DOMAINS.map((domain) => `DNS:*.${domain}`).join(',');
  execFileSync('openssl', [
    ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test'.split(' '),
    '-addext',
    `subjectAltName=${names}`,
    '-keyout',
    key,
    '-out',
    certificate,
  ]);
  httpsPort = await freePort();
  const shared = {
    ...secrets,
    DATABASE_URL: database.url,
    HANDLER_DOMAIN: DOMAINS.join(','),
    HANDLER_PROCESSES: '1',
    HANDLER_SPARES: '0',
    MACHINE_ADDRESS: '127.0.0.1',
    PUBLIC_HTTPS: 'on',
    PUBLIC_PROTOCOL: 'https',
  };
  first = await startWholePlatform({
    ...shared,
    MACHINE_NAME: 'm1',
    EDGE_HOST: '127.0.0.1',
    EDGE_HTTP_PORT: String(await freePort()),
    EDGE_HTTPS_PORT: String(httpsPort),
    EDGE_CERTIFICATE_FILE: certificate,
    EDGE_KEY_FILE: key,
    EDGE_CERTIFICATES_PER_WEEK: '0',
  });
  const other = (name: string): Promise<TestPlatform> =>
    startPlatform(
      {},
      {
        ...shared,
        FS_PATH: first.environment['FS_PATH']!,
        PLATFORM_PARTS: 'handler',
        MACHINE_NAME: name,
        DB_URL: 'tcp://127.0.0.1:9',
      },
    );
  second = await other('m2');
  third = await other('m3');
});
after(async () => {
  await second?.close();
  await third?.close();
  await first?.close();
  await database?.close();
  agent.destroy();
  rmSync(keys, { recursive: true, force: true });
});

const machines = async (): Promise<Readonly<Record<string, string>>> => {
  const { items } = await first.call('GET', '/operator/machines');
  return Object.fromEntries(items.map(({ name, status }: Json) => [name, status]));
};

async function deploy(version: string): Promise<void> {
  const source = path.join(first.folder, 'source');
  mkdirSync(path.join(source, 'src'), { recursive: true });
  writeFileSync(path.join(source, 'platform.yaml'), 'name: shop\nkind: worker\n');
  writeFileSync(path.join(source, 'src/index.ts'), code(version));
  await first.cli(source, 'deploy', '--prod', '--json');
}

/** A machine's own handler, past the edge. */
async function directly(port: number, at = '/'): Promise<string> {
  const headers = { [EDGE_HEADER]: secrets['EDGE_TOKEN']! };
  return (await send(port, `shop.${DOMAINS[0]}`, at, { headers })).text;
}

/** Over the edge, as a visitor. */
function visit(domain: string, at: string): Promise<{ readonly status: number; readonly text: string }> {
  const host = `shop.${domain}`;
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: httpsPort, path: at, servername: host, headers: { host }, agent };
    const sent = get({ ...options, timeout: SILENCE_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode!, text })).on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`${host} did not answer ${at}`))).on('error', reject);
  });
}

/** Machines by the isolate that answers there. */
async function isolatesOf(): Promise<Map<string, string>> {
  const ports = { m1: first.ports.handler, m2: second.port, m3: third.port };
  const isolates = new Map<string, string>();
  for (const [name, port] of Object.entries(ports)) isolates.set(await directly(port, '/isolate'), name);
  return isolates;
}

/** Hosts by machine. */
async function hostsOf(): Promise<Map<string, string[]>> {
  const isolates = await isolatesOf();
  const hosts = new Map<string, string[]>();
  for (const domain of DOMAINS) {
    const name = isolates.get((await visit(domain, '/isolate')).text)!;
    hosts.set(name, [...(hosts.get(name) ?? []), domain]);
  }
  return hosts;
}

interface Opened {
  readonly socket: WebSocket;
  readonly ended: Promise<number>;
}

/** A WebSocket to that machine. If it is busy, the edge may send a host elsewhere: the socket says where. */
async function openTo(name: string): Promise<Opened> {
  for (;;) {
    const isolates = await isolatesOf();
    for (const domain of DOMAINS) {
      const opened = await open(domain);
      if (isolates.get(await answerOf(opened, 'isolate')) === name) return opened;
      opened.socket.close();
    }
  }
}

function answerOf({ socket }: Opened, text: string): Promise<string> {
  const answer = new Promise<string>((resolve) =>
    socket.addEventListener('message', ({ data }) => resolve(String(data)), { once: true }),
  );
  socket.send(text);
  return answer;
}

/** An open WebSocket, and how it ended. */
async function open(domain: string): Promise<Opened> {
  const connect = { rejectUnauthorized: false, lookup: toThisMachine };
  const socket = new WebSocket(`wss://shop.${domain}:${httpsPort}/socket`, { dispatcher: new Dispatcher({ connect }) });
  const ended = new Promise<number>((resolve) => socket.addEventListener('close', (event) => resolve(event.code)));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`no WebSocket to ${domain}`)));
  });
  return { socket, ended };
}

function toThisMachine(_host: string, _options: unknown, done: (...answer: never[]) => void): void {
  (done as (error: null, addresses: { address: string; family: number }[]) => void)(null, [
    { address: '127.0.0.1', family: 4 },
  ]);
}

test('machines find each other, and a deployment is live on all of them when it is done', async () => {
  await until(async () => Object.keys(await machines()).length === 3);
  assert.deepEqual(await machines(), { m1: 'up', m2: 'up', m3: 'up' });
  for (const version of ['one', 'two', 'three']) {
    await deploy(version);
    const answers = await Promise.all([first.ports.handler, second.port, third.port].map((port) => directly(port)));
    assert.deepEqual(answers, [version, version, version]);
  }
});

test('a machine drains without a lost request, and its WebSockets close with 1012', { timeout: 120_000 }, async () => {
  await until(async () => (await hostsOf()).size === 3);
  const hosts = await hostsOf();
  const sockets = { m1: await openTo('m1'), m2: await openTo('m2') };
  const statuses: number[] = [];
  let isAsking = true;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let round = client; isAsking; round++) {
      const domain = DOMAINS[(round * CLIENTS) % DOMAINS.length]!;
      statuses.push((await visit(domain, round % 5 === 0 ? '/slow' : '/')).status);
    }
  });
  try {
    const { stdout } = await first.cli(first.folder, 'machines', 'drain', 'm2');
    assert.match(stdout, /^Drained m2: it serves no requests/);
    assert.equal(await sockets.m2.ended, 1012);
    for (const domain of hosts.get('m2')!) assert.equal((await visit(domain, '/')).text, 'three');
  } finally {
    isAsking = false;
    await Promise.all(clients);
  }
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.ok(statuses.length > 20, `${statuses.length} requests`);
  assert.equal(await answerOf(sockets.m1, 'still here'), 'still here');
  sockets.m1.socket.close();
  assert.deepEqual(await machines(), { m1: 'up', m2: 'drained', m3: 'up' });
});

test('a machine that is killed is lost, and neither requests nor releases wait for it', async () => {
  process.kill(third.supervisorPid, 'SIGKILL');
  await until(async () => (await machines())['m3'] === 'lost');
  for (const domain of DOMAINS) assert.deepEqual(await visit(domain, '/'), { status: 200, text: 'three' });
  await deploy('four');
  for (const domain of DOMAINS) assert.equal((await visit(domain, '/')).text, 'four');
  await first.cli(first.folder, 'machines', 'remove', 'm3', '-y');
  await second.close();
  assert.deepEqual(await machines(), { m1: 'up' });
});
