// The way of /ai through the API's process: what is short, what is long, and what the gateway answers too early.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { Client } from 'undici';
import { openAiHop } from '#control/process/ai-hop.ts';
import { serveApi } from '#control/process/servers.ts';

/** A client of one connection, before a gateway that answers so. */
async function withHop(listener: RequestListener, run: (client: Client) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-hop-'));
  const socket = path.join(folder, 'ai.sock');
  const gateway = createServer(listener).listen(socket);
  await once(gateway, 'listening');
  const hop = openAiHop(socket);
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
