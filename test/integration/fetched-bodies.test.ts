// Bodies that a worker fetches, of every size around the bounds at which they cross in parts, as a stream, and with pauses.
import { equal } from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let server: Server;
let handler: TestHandler;

before(async () => {
  server = createServer((request, response) => response.end(Buffer.alloc(Number(request.url?.slice(1)), 'x')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  handler = await startHandler({
    fetcher: `export default {
      async fetch(request) {
        const { pathname } = new URL(request.url);
        const response = await fetch('http://127.0.0.1:${port}' + pathname);
        const bytes = await response.bytes();
        return new Response(bytes.length + ' ' + bytes.every((byte) => byte === 120));
      },
    }`,
  });
});

after(async () => {
  await handler.close();
  server.closeAllConnections();
  server.close();
});

for (const bytes of [0, 1, 65_535, 65_536, 65_537, 200_000, 262_144, 262_145, 5_000_000]) {
  test(`a fetched body of ${bytes} bytes arrives whole`, async () => {
    const response = await handler.fetch('fetcher', `/${bytes}`);
    equal(response.text, `${bytes} true`);
  });
}
