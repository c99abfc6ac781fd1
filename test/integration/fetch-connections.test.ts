// Whose connections carry whose requests to a server outside.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { startHandler } from '#test/setup/handler.ts';

const worker = `export default { fetch: (request) => {
  const url = new URL(request.url);
  return fetch(url.searchParams.get('to'), url.pathname === '/post' ? { method: 'POST', body: url.searchParams.get('body') } : {});
} };`;

test('a worker uses its connections again, and no other worker gets an answer to what it sent', async (t) => {
  // A server that takes a body for the next request: it answers that one too, when it is asked the next time.
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    const number = connections.push(socket);
    socket.on('error', () => {});
    let owed = '';
    socket.on('data', (bytes) => {
      const [head = '', body = ''] = bytes.toString('latin1').split('\r\n\r\n');
      const text = owed || `${head.split(' ')[1]} on ${number}`;
      owed = body === '' ? '' : 'forged';
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const handler = await startHandler({ attacker: worker, victim: worker });
  t.after(async () => {
    await handler.close();
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const to = `to=${encodeURIComponent(`http://127.0.0.1:${(server.address() as AddressInfo).port}/page`)}`;
  assert.equal((await handler.fetch('victim', `/?${to}`)).text, '/page on 1');
  assert.equal((await handler.fetch('victim', `/?${to}`)).text, '/page on 1');
  assert.equal((await handler.fetch('attacker', `/post?${to}&body=x`)).text, '/page on 2');
  assert.equal((await handler.fetch('victim', `/?${to}`)).text, '/page on 1');
  assert.equal((await handler.fetch('attacker', `/?${to}`)).text, 'forged');
});
