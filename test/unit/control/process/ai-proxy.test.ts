// The way of /ai through the API's process: what passes and what does not, where there is no gateway, and where it
// answers too early.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { Client } from 'undici';
import { openAiProxy } from '#control/process/ai-proxy.ts';
import { serveApi } from '#control/process/servers.ts';

/** A client of one connection, before a gateway that answers so. */
async function withHop(listener: RequestListener, run: (client: Client) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-hop-'));
  const socket = path.join(folder, 'ai.sock');
  const gateway = createServer(listener).listen(socket);
  await once(gateway, 'listening');
  const hop = openAiProxy(socket);
  const server = await serveApi({
    host: '127.0.0.1',
    port: 0,
    fetch: (request) => hop.fetch(request) ?? new Response(null, { status: 404 }),
  });
  const client = new Client(`http://127.0.0.1:${server.port}`, { pipelining: 1 });
  try {
    await run(client);
  } finally {
    await client.destroy();
    await server.close();
    await hop.close();
    gateway.closeAllConnections();
    gateway.close();
    rmSync(folder, { recursive: true });
  }
}

const post = (client: Client, body: string) =>
  client.request({ path: '/ai/x', method: 'POST', headers: { 'content-type': 'application/json' }, body });

test('bodies and answers of any length pass as they are', () =>
  withHop(
    (request, response) => {
      void buffer(request).then((body) => {
        if (body.length % 2 === 0) response.setHeader('content-length', body.length);
        response.writeHead(201, { 'x-got': request.headers['content-length'] ?? 'no length' });
        response.end(body);
      });
    },
    async (client) => {
      for (const length of [0, 1, 2, 65_536, 65_537, 1_000_000]) {
        const sent = 'é'.repeat(length / 2) + 'x'.repeat(length % 2);
        const { statusCode, headers, body } = await post(client, sent);
        assert.deepEqual([statusCode, headers['x-got']], [201, String(Buffer.byteLength(sent))]);
        assert.ok((await body.text()) === sent, `${length} bytes`);
      }
      const { headers } = await client.request({ path: '/ai/x', method: 'GET' });
      assert.equal(headers['x-got'], 'no length');
    },
  ));

test('a long body that is refused before it was read leaves the connection to the next request', () =>
  withHop(
    (request, response) => {
      if (Number(request.headers['content-length']) < 10) return void response.end('next');
      response.writeHead(413);
      return void response.end('too large');
    },
    async (client) => {
      for (let round = 0; round < 3; round += 1) {
        const refused = await post(client, 'x'.repeat(2_000_000));
        assert.equal(refused.statusCode, 413);
        await refused.body.dump();
        const next = await post(client, 'x');
        assert.equal(await next.body.text(), 'next');
      }
    },
  ));

const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { code: string } }).error.code;

test('only /ai and what is below it is passed on', async () => {
  const hop = openAiProxy(null);
  for (const at of ['/', '/aim', '/projects/ai', '/v1/ai'])
    assert.equal(hop.fetch(new Request(`http://api.test${at}`)), null, at);
  for (const at of ['/ai', '/ai/models', '/ai?x=1', '/ai/v1/chat/completions']) {
    const response = await hop.fetch(new Request(`http://api.test${at}`))!;
    assert.deepEqual([response.status, await codeOf(response)], [503, 'provider_not_configured'], at);
    assert.equal(response.headers.get('x-should-retry'), 'false');
  }
});

test('a gateway that is away is told from none: a client may try again', async () => {
  const hop = openAiProxy('/nowhere/nobody.sock');
  const response = await hop.fetch(new Request('http://api.test/ai/models'))!;
  assert.deepEqual([response.status, await codeOf(response)], [503, 'upstream_error']);
  assert.equal(response.headers.get('retry-after'), '1');
  await hop.close();
});

test('headers, bodies and answers pass as they are, but for what belongs to one connection or says who calls', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-hop-'));
  const socket = path.join(folder, 'ai.sock');
  const server = createServer((request, response) => {
    response.writeHead(429, { 'x-request-id': 'req_1', 'retry-after': '7', 'access-control-allow-origin': '*' });
    request.pipe(response);
  }).listen(socket);
  await once(server, 'listening');
  const hop = openAiProxy(socket);
  try {
    const asked = once(server, 'request') as Promise<[IncomingMessage]>;
    const response = await hop.fetch(
      new Request('http://api.test/ai/v1/chat/completions?a=%20b', {
        method: 'POST',
        headers: {
          authorization: 'Bearer t',
          'x-platform-timeout-ms': '5',
          'x-platform-ai-caller': 'forged',
          cookie: 'platform-session=x',
        },
        body: '{"model":"auto"}',
      }),
    )!;
    const [{ url, headers }] = await asked;
    assert.equal(url, '/ai/v1/chat/completions?a=%20b');
    assert.deepEqual(
      ['authorization', 'x-platform-timeout-ms', 'x-platform-ai-caller', 'cookie'].map((name) => headers[name]),
      ['Bearer t', '5', undefined, undefined],
    );
    assert.equal(response.status, 429);
    assert.deepEqual(
      ['x-request-id', 'retry-after', 'access-control-allow-origin'].map((name) => response.headers.get(name)),
      ['req_1', '7', '*'],
    );
    assert.equal(await response.text(), '{"model":"auto"}');
  } finally {
    await hop.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
