// What a server that a stranger names may answer to a webhook: each attempt comes to an end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { post } from '#core/outbound/post.ts';

for (const [what, answer, outcome] of [
  [
    'asks for another protocol',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    { status: null, error: 'No readable answer' },
  ],
  ['says nothing', '', { status: null, error: 'No connection: ECONNRESET' }],
  ['takes it', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, error: null }],
] as const)
  test(`an attempt ends at a server that ${what}`, { timeout: 10_000 }, async (t) => {
    const server = createServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket.end(answer));
    });
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    assert.deepEqual(await post({ url, headers: {}, body: '{}', isPrivate: true }), outcome);
  });
