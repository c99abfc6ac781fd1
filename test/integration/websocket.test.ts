// WebSockets through a whole handler with the real `ws` client: the worker's end, its close codes and bounds, and workers that
// open sockets themselves.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { WebSocket, type ClientOptions } from 'ws';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const echo = `
export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext) {
    const url = new URL(request.url);
    if (request.headers.get('upgrade') !== 'websocket') return new Response('no handshake: ' + request.headers.get('upgrade'), { status: 426 });
    if (url.pathname === '/refuse') return new Response('not you', { status: 401, headers: { 'x-why': 'test' } });
    const [client, server] = Object.values(new WebSocketPair());
    server.accept();
    if (url.pathname === '/greet') { server.send('one'); server.send(new Uint8Array([2])); }
    server.addEventListener('message', async (event) => {
      if (event.data === 'close') server.close(4321, 'as you wish');
      else if (event.data === 'throw') throw new Error('thrown in a handler');
      else if (event.data === 'spin') for (;;);
      else if (event.data === 'work') { const end = Date.now() + 20; while (Date.now() < end); server.send('worked'); }
      else if (event.data === 'flood') { const chunk = 'x'.repeat(100_000); for (let i = 0; i < 400; i++) { server.send(chunk); await new Promise((done) => setTimeout(done, 1)); } }
      else if (event.data === 'buffered') server.send(String(server.bufferedAmount));
      else if (event.data === 'state') server.send(JSON.stringify([server.readyState, server.binaryType, server.protocol, server.url]));
      else server.send(event.data);
    });
    server.addEventListener('error', (event) => console.log('error', event.message));
    server.addEventListener('close', (event) => {
      console.log('close', url.pathname, event.code, event.reason, event.wasClean, server.readyState);
      ctx.waitUntil(Promise.resolve().then(() => console.log('after close', url.pathname)));
    });
    const protocol = request.headers.get('sec-websocket-protocol')?.split(', ').find((name) => name === 'chosen');
    return new Response(null, { status: 101, webSocket: client, headers: protocol ? { 'sec-websocket-protocol': protocol, 'x-own': 'yes' } : { 'x-own': 'yes' } });
  },
};
interface ExecutionContext { waitUntil(promise: Promise<unknown>): void }
`;

let handler: TestHandler;
before(async () => {
  handler = await startHandler({ echo }, { webSocketBufferedBytesMax: 4 * 1024 * 1024, webSocketMessageBytesMax: 1024 * 1024 });
});
after(() => handler.close());

function connect(path = '/', protocols: string[] = [], options: ClientOptions = {}): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${handler.port}${path}`, protocols, { headers: { host: 'echo.localhost' }, ...options });
}

async function opened(path?: string, protocols?: string[], options?: ClientOptions): Promise<WebSocket> {
  const socket = connect(path, protocols, options);
  await once(socket, 'open');
  return socket;
}

async function ask(socket: WebSocket, message: string | Uint8Array): Promise<string | Buffer> {
  const answer = once(socket, 'message') as Promise<[Buffer, boolean]>;
  socket.send(message);
  const [data, isBinary] = await answer;
  return isBinary ? data : data.toString();
}

async function closed(socket: WebSocket): Promise<[number, string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  return [code, reason.toString()];
}

describe('a WebSocket that a worker accepts', () => {
  it('echoes text and binary messages', async () => {
    const socket = await opened();
    assert.equal(await ask(socket, 'hello'), 'hello');
    assert.equal(await ask(socket, ''), '');
    assert.equal(await ask(socket, 'grüße 🦊'), 'grüße 🦊');
    assert.deepEqual(await ask(socket, new Uint8Array([0, 255, 1])), Buffer.from([0, 255, 1]));
    const large = Buffer.alloc(700_000, 7);
    assert.deepEqual(await ask(socket, large), large);
    assert.equal(await ask(socket, 'state'), '[1,"arraybuffer","",""]');
    socket.close(1000);
    assert.deepEqual(await closed(socket), [1000, '']);
  });
});
