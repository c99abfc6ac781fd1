// Exchanges with servers of MCP that keep no bound.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { exchange, type Exchange } from '#packages/agent/mcp/exchange.ts';

let server: Server;
let asked: Exchange;

before(async () => {
  server = createServer((request, response) => {
    const event = (text: string): boolean => response.write(`data: ${text}\n\n`);
    if (request.url === '/silent') return;
    if (request.url === '/whole') return void response.end('x'.repeat(2000));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    event('other');
    if (request.url === '/ends') return void response.end();
    if (request.url === '/answers') return void event('wanted');
    const more = (): void => {
      if (!response.destroyed) response.write(`: ${'x'.repeat(500)}\n`, () => setImmediate(more));
    };
    more();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  asked = { method: 'GET', url, headers: {}, timeoutMs: 10_000, bytesMax: 1000 };
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const ask = (path: string, more: Partial<Exchange> = {}): Promise<string> =>
  exchange({ ...asked, url: `${asked.url}${path}`, ...more }, (event) => event === 'wanted').then(({ text }) => text);

test('an event that is the answer is taken, though the stream goes on', async () => {
  assert.equal(await ask('/answers'), 'wanted');
});

test('a server that is silent, sends too much, or ends early is an error that says so', async () => {
  await assert.rejects(ask('/silent', { timeoutMs: 50 }), /\/silent did not answer within 50 ms$/);
  await assert.rejects(ask('/whole'), /\/whole answers with more than 1000 bytes$/);
  await assert.rejects(ask('/endless'), /\/endless answers with more than 1000 bytes$/);
  await assert.rejects(ask('/ends'), /\/ends ended its stream before the answer$/);
});
