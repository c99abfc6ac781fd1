// A server beside engines that answers what is no response: the request comes to an end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { ProxiedRequest } from '#runtime/engine/servers/proxied-request.ts';
import type { ServerConnector } from '#runtime/engine/servers/server-connector.ts';

test('an answer that asks for another protocol fails the request', { timeout: 10_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'proxied-'));
  const path = join(folder, 'http.sock');
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .once('data', () => socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'));
  });
  t.after(() => (server.close(), rmSync(folder, { recursive: true })));
  await once(server.listen(path), 'listening');
  const connector = { path, agent: new Agent() } as unknown as ServerConnector;
  const exchange = { method: 'GET', target: '/', bodyBytes: 0 } as unknown as Exchange;
  const failed = Promise.withResolvers<string>();
  new ProxiedRequest(connector, exchange, ['host', 'x'], {
    begun() {},
    done() {},
    failed: (error) => failed.resolve(error.message),
  });
  assert.equal(await failed.promise, 'it ended without a response');
});
