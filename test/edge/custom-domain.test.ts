// A platform with PUBLIC_HTTPS: custom domains and deployments get certificates of an authority, strangers' names none;
// what passes through Caddy arrives as it was sent, and says truly whom it is from.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import type { EdgeState } from '#core/edge-state.ts';
import { changeRoute } from '#artifacts/route-records.ts';
import { get, handshake, startAuthority, type Authority } from '#test/setup/edge.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

const WORKER = `
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/socket') {
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      server.addEventListener('message', ({ data }) => server.send('echo ' + data));
      return new Response(null, { status: 101, webSocket: client });
    }
    if (pathname === '/events') {
      const body = new ReadableStream({
        async pull(controller) {
          controller.enqueue(new TextEncoder().encode('data: tick\\n\\n'));
          await new Promise((resolve) => setTimeout(resolve, 200));
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    }
    return Response.json({
      url: request.url,
      method: request.method,
      body: await request.text(),
      headers: Object.fromEntries(request.headers),
    });
  },
};`;

let authority: Authority;
let platform: TestPlatform;
const state = (): EdgeState => JSON.parse(readFileSync(path.join(platform.folder, 'edge/state.json'), 'utf8'));
const secure = (host: string, target = '/', options: Parameters<typeof get>[2] = {}) =>
  get(host, target, { ca: authority.root(), ...options }).catch((error: unknown) => {
    throw new Error(`${host} does not answer; certificates: ${JSON.stringify(state().certificates)}`, { cause: error });
  });

before(async () => {
  authority = await startAuthority();
  platform = await startPlatform(
    { shop: WORKER },
    { PUBLIC_HTTPS: 'on', HANDLER_DOMAIN: 'apps.test', ...authority.environment },
  );
  await platform.deploy('shop', 'export default { fetch: () => new Response("next") };', '', {}, 'next');
  changeRoute(platform.folder, 'shop', (record) => ({
    ...record,
    domains: ['shop.test'],
    branchDomains: { 'next.shop.test': 'next' },
    redirects: { 'www.shop.test': 'shop.test' },
  }));
  await until(() => {
    try {
      return state().certificates['shop.test']?.expiresAt;
    } catch {
      return null;
    }
  });
});
after(async () => {
  await platform?.close();
  await authority?.close();
});

test('a custom domain has its certificate before the first visitor, and serves over it', async () => {
  const { status, text } = await secure('shop.test', '/page?q=1');
  const seen = JSON.parse(text);
  assert.deepEqual([status, seen.url], [200, 'https://shop.test/page?q=1']);
  const { issuer, expiresAt, renewsAt, problem } = state().certificates['shop.test']!;
  assert.match(issuer!, /Caddy Local Authority/);
  assert.ok(Date.parse(renewsAt!) < Date.parse(expiresAt!));
  assert.equal(problem, null);
});

test('a branch, a redirect and a deployment get theirs too', async () => {
  assert.equal((await secure('next.shop.test')).text, 'next');
  const { status, headers } = await secure('www.shop.test', '/a?b=c', { method: 'POST', body: 'x' });
  assert.deepEqual([status, headers['location']], [308, 'https://shop.test/a?b=c']);
  assert.equal((await secure('shop.apps.test')).status, 200);
});

test("a stranger's name is refused in the handshake, and so are an address, no name and one that is none", async () => {
  for (const name of [
    'one.test',
    'other.apps.test',
    'shop--dxxxxxxxxxxxx.apps.test',
    'apps.test',
    'a_b.shop.test',
    'x'.repeat(60) + '.test',
  ])
    await assert.rejects(handshake(name), /alert|disconnected|ECONNRESET/, name);
  await assert.rejects(handshake(''), /alert|disconnected|ECONNRESET/);
});

test('plain HTTP is sent on, with path and query', async () => {
  const { status, location } = await plainly(80, '/a?b=c', { host: 'shop.test' });
  assert.deepEqual([status, location], [308, 'https://shop.test/a?b=c']);
});

test('workers see the address of their client, whatever it claims; so does nobody who goes round Caddy', async () => {
  const claims = {
    'x-forwarded-for': '203.0.113.7',
    'x-real-ip': '203.0.113.7',
    forwarded: 'for=203.0.113.7',
    'cf-connecting-ip': '203.0.113.7',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'evil.test',
    'x-forwarded-port': '1',
    'x-forwarded-ssl': 'off',
    'x-platform-edge': 'guess',
  };
  const { headers } = JSON.parse((await secure('shop.test', '/', { headers: claims })).text);
  assert.deepEqual(Object.fromEntries(Object.keys(claims).map((name) => [name, headers[name]])), {
    'x-forwarded-for': '127.0.0.1',
    'x-real-ip': '127.0.0.1',
    forwarded: undefined,
    'cf-connecting-ip': '127.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'shop.test',
    'x-forwarded-port': undefined,
    'x-forwarded-ssl': undefined,
    'x-platform-edge': undefined,
  });
  const round = JSON.parse((await plainly(platform.port, '/', { ...claims, host: 'shop.test' })).text);
  assert.deepEqual(
    [round.headers['x-forwarded-for'], round.headers['x-forwarded-host'], round.headers['x-platform-edge']],
    ['127.0.0.1', undefined, undefined],
  );
});

test('HTTP/2 is spoken, HTTP/3 is offered', async () => {
  assert.equal((await handshake('shop.test', ['h2', 'http/1.1'])).protocol, 'h2');
  assert.match(String((await secure('shop.test')).headers['alt-svc']), /h3=":443"/);
  const session = connectHttp2('https://shop.test', { ca: authority.root() });
  const stream = session.request({ ':path': '/two' });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 200);
  session.destroy();
});

test('WebSockets and events pass as they come', async () => {
  const socket = new WebSocket('wss://shop.test/socket', { ca: authority.root() });
  await once(socket, 'open');
  socket.send('hello');
  const [data] = (await once(socket, 'message')) as [Buffer];
  assert.equal(String(data), 'echo hello');
  socket.terminate();
  const session = connect({ host: '127.0.0.1', port: 443, servername: 'shop.test', ca: authority.root() });
  await once(session, 'secureConnect');
  session.write('GET /events HTTP/1.1\r\nhost: shop.test\r\n\r\n');
  let text = '';
  for await (const part of session) {
    text += String(part);
    // The response has no end: what came was not held back.
    if (text.includes('data: tick') || !text.startsWith('HTTP/1.1 200')) break;
  }
  assert.match(text, /^HTTP\/1\.1 200/);
});

test('two lengths, or a length and chunks, are no way to smuggle a second request in', async () => {
  const talk = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: 443, servername: 'shop.test', ca: authority.root() });
      let answer = '';
      socket.on('data', (part) => (answer += String(part)));
      socket.on('error', () => {});
      socket.on('close', () => resolve(answer));
      socket.end(text);
    });
  const smuggled = 'GET /smuggled HTTP/1.1\r\nhost: shop.test\r\n\r\n';
  for (const head of [
    `content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    `content-length: 0\r\ncontent-length: ${smuggled.length}\r\n\r\n${smuggled}`,
    `transfer-encoding: xchunked\r\n\r\n${smuggled}`,
    `transfer-encoding: chunked, identity\r\n\r\n${smuggled}`,
    `content-length: +5\r\n\r\n${smuggled}`,
  ]) {
    const answer = await talk(`POST /first HTTP/1.1\r\nhost: shop.test\r\n${head}`);
    const bodies = answer.split('HTTP/1.1 ').slice(1);
    // Either the first is refused, or what follows it is a request of its own to Caddy as well.
    assert.ok(bodies.length === 2 || !answer.includes('"url":"https://shop.test/smuggled"'), answer.slice(0, 500));
    assert.ok(!bodies[0]?.includes('smuggled'), answer.slice(0, 500));
  }
});

test('keys and certificates are for the platform alone, and the admin socket as well', () => {
  for (const name of ['edge', 'edge/caddy', 'edge/state.json'])
    assert.equal(statSync(path.join(platform.folder, name)).mode & 0o077, 0, name);
});

test('Caddy is started again when it dies, with the certificates it has', async () => {
  const before = (await handshake('shop.test')).certificate.serialNumber;
  const { services } = await platform.state();
  assert.equal(services.find(({ name }) => name === 'edge')?.state, 'ready');
  await authority.stop();
  const pid = caddyOf(platform.folder);
  process.kill(pid, 'SIGKILL');
  await until(() => {
    const now = caddyOf(platform.folder);
    return now !== 0 && now !== pid;
  });
  const again = await until(() => handshake('shop.test').catch(() => null));
  assert.equal(again.certificate.serialNumber, before);
  assert.equal((await secure('shop.test')).status, 200);
});

/** By HTTP, to a port of this machine. */
function plainly(
  port: number,
  target: string,
  headers: Record<string, string>,
): Promise<{ status: number; location: string | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: target, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode!, location: answer.headers.location, text }));
    })
      .on('error', reject)
      .end();
  });
}

/** Process id of the Caddy whose admin socket lies in the folder; 0: there is none. */
function caddyOf(folder: string): number {
  try {
    return Number(readFileSync(path.join(folder, 'edge/caddy.pid'), 'utf8'));
  } catch {
    return 0;
  }
}
