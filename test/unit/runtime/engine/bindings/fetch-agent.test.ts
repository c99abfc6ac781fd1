import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { loadFetchLibrary } from '#runtime/engine/bindings/fetch-agent.ts';

const loaded = (): string[] =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('node_modules/undici/'));

test('the library of fetch makes requests, and the rest of it is not loaded', async () => {
  const { Agent, buildConnector } = await loadFetchLibrary();
  const server = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const agent = new Agent({ connect: buildConnector({ allowH2: false }), allowH2: false });
  try {
    const response = await agent.request({
      origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      path: '/',
      method: 'GET',
    });
    assert.equal(await response.body.text(), 'hi');
  } finally {
    await agent.destroy();
    server.close();
  }
  assert.deepEqual(
    loaded().filter((file) => /undici\/index\.js|lib\/(?:mock|cache|interceptor|web\/fetch\/index)/.test(file)),
    [],
  );
  assert.ok(loaded().some((file) => file.endsWith('lib/dispatcher/agent.js')));
});
