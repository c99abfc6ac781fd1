// Bodies that a worker fetches, of every size around the bounds at which they cross in parts, as a stream, and with
// pauses.
import { equal, match } from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let server: Server;
let handler: TestHandler;
/** Answers of the server that have begun and do not end by themselves, by their paths. */
const begun = new Map<string, ServerResponse>();

before(async () => {
  server = createServer((request, response) => {
    const path = request.url!.slice(1);
    if (/^\d+$/.test(path)) response.end(Buffer.alloc(Number(path), 'x'));
    else {
      begun.set(path, response);
      response.write(Buffer.alloc(200_000, 'x'));
    }
  });
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
    endless: `let kept;
    const lengthOf = async (response) => (await response.bytes()).length;
    export default {
      async fetch(request, env, ctx) {
        const { pathname } = new URL(request.url);
        if (pathname === '/kept') return new Response(await kept.text().then((text) => text.length, (error) => error.message));
        if (pathname === '/length') return new Response(await kept);
        const response = await fetch('http://127.0.0.1:${port}' + pathname);
        switch (pathname) {
          case '/unread': return new Response('answered');
          case '/looked-at': return new Response(String(response.body.locked));
          case '/half': return new Response(String((await response.body.getReader().read()).value.length > 0));
          case '/keep': kept = response; return new Response('kept');
          case '/failing': throw new Error('no answer');
          case '/waited': ctx.waitUntil(lengthOf(response).then((length) => console.log('read ' + length))); return new Response('waits');
          case '/passed-on': return response;
          case '/background': kept = lengthOf(response).catch((error) => error.message); return new Response('reads');
        }
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

/** Resolves when whoever fetched that path has closed its connection. */
function closed(path: string): Promise<unknown> {
  const response = begun.get(path)!;
  return response.destroyed ? Promise.resolve() : once(response, 'close');
}

for (const path of ['unread', 'looked-at', 'half', 'failing']) {
  test(`a fetched body that nobody reads is closed at the invocation's end: ${path}`, async () => {
    const { status } = await handler.fetch('endless', `/${path}`);
    equal(status, path === 'failing' ? 500 : 200);
    await closed(path);
  });
}

test('a response that was kept for another request says why its body cannot be read any more', async () => {
  equal((await handler.fetch('endless', '/keep')).text, 'kept');
  await closed('keep');
  match((await handler.fetch('endless', '/kept')).text, /invocation of this body has ended.*waitUntil/);
});

test('a fetched body that waitUntil reads, or that is the answer, is open until its end', async () => {
  equal((await handler.fetch('endless', '/waited')).text, 'waits');
  begun.get('waited')!.end('y'.repeat(100_000));
  await handler.logged('endless', /read 300000/);
  const passed = handler.fetch('endless', '/passed-on');
  while (!begun.has('passed-on')) await once(server, 'request');
  begun.get('passed-on')!.end('y'.repeat(100_000));
  equal((await passed).body.length, 300_000);
});

test('a fetched body that is still being read when the invocation is over breaks off, and its server is let go', async () => {
  equal((await handler.fetch('endless', '/background')).text, 'reads');
  await closed('background');
  match((await handler.fetch('endless', '/length')).text, /invocation of this body has ended/);
});
