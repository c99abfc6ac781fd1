// WebSockets through a whole handler with the real `ws` client: the worker's end, its close codes and bounds, and
// workers that open sockets themselves.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { WebSocket, type ClientOptions } from 'ws';
import { notOverUws, startHandler, type TestHandler } from '#test/setup/handler.ts';

const echo = `
export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext) {
    const url = new URL(request.url);
    if (url.pathname === '/hang') await new Promise((resolve) => setTimeout(resolve, 60_000));
    if (url.pathname === '/always') return new Response(null, { status: 101, webSocket: new WebSocketPair()[0] });
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
    const protocol = request.headers.get('sec-websocket-protocol')?.split(/, ?/).find((name) => name === 'chosen');
    return new Response(null, { status: 101, webSocket: client, headers: protocol ? { 'sec-websocket-protocol': protocol, 'x-own': 'yes' } : { 'x-own': 'yes' } });
  },
};
interface ExecutionContext { waitUntil(promise: Promise<unknown>): void }
`;

let handler: TestHandler;
before(async () => {
  handler = await startHandler(
    { echo },
    { webSocketBufferedBytesMax: 4 * 1024 * 1024, webSocketMessageBytesMax: 1024 * 1024 },
  );
});
after(() => handler.close());

function connect(path = '/', protocols: string[] = [], options: ClientOptions = {}): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${handler.port}${path}`, protocols, {
    headers: { host: 'echo.localhost' },
    ...options,
  });
}

async function opened(path?: string, protocols?: string[], options?: ClientOptions): Promise<WebSocket> {
  const socket = connect(path, protocols, options);
  await once(socket, 'open');
  return socket;
}

/** One request after the other events of the isolate have been told. */
async function answer(of: TestHandler): Promise<void> {
  await of.fetch('echo');
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
    assert.equal(await ask(socket, 'buffered'), '0');
    socket.close(1000);
    assert.deepEqual(await closed(socket), [1000, '']);
  });

  it('gets what the worker sent before its response, in order', async () => {
    const socket = connect('/greet');
    const messages: unknown[] = [];
    await new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        messages.push(isBinary ? [...data] : data.toString());
        if (messages.length === 2) resolve();
      });
    });
    assert.deepEqual(messages, ['one', [2]]);
    socket.terminate();
  });

  it('speaks the sub-protocol that the response chose, which carries headers of its own', async () => {
    const socket = connect('/', ['other', 'chosen']);
    const [[response]] = (await Promise.all([once(socket, 'upgrade'), once(socket, 'open')])) as [
      [IncomingMessage],
      unknown,
    ];
    assert.deepEqual([socket.protocol, response.headers['x-own']], ['chosen', 'yes']);
    socket.terminate();
  });

  it('is refused with whatever the worker answers instead', async () => {
    const socket = connect('/refuse');
    const [, response] = (await once(socket, 'unexpected-response')) as [ClientRequest, IncomingMessage];
    assert.deepEqual([response.statusCode, response.headers['x-why'], await text(response)], [401, 'test', 'not you']);
  });

  it('needs a handshake: anything else that asks for an upgrade is a plain request', async () => {
    const headers = {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '12',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    };
    const response = await handler.fetch('echo', '/', { headers });
    assert.deepEqual([response.status, response.text], [426, 'no handshake: null']);
    const answered = await handler.fetch('echo', '/always');
    assert.equal(answered.status, 500);
    await handler.logged('echo', /status 101 is only for WebSocket handshakes/);
  });

  it('closes with the codes of either side', async () => {
    const one = await opened('/codes-1');
    one.close(4001, 'bye');
    assert.deepEqual(await closed(one), [4001, 'bye']);
    await handler.logged('echo', /^close \/codes-1 4001 bye true 3$/);
    await handler.logged('echo', /^after close \/codes-1$/);
    const two = await opened('/codes-2');
    two.send('close');
    assert.deepEqual(await closed(two), [4321, 'as you wish']);
    await handler.logged('echo', /^close \/codes-2 4321 as you wish true 3$/);
    const three = await opened('/codes-3');
    three.close();
    assert.deepEqual(await closed(three), [1005, '']);
    await handler.logged('echo', /^close \/codes-3 1005 {2}true 3$/);
    const four = await opened('/codes-4');
    four.terminate();
    await handler.logged('echo', /^close \/codes-4 1006 {2}false 3$/);
  });

  it('is a request with status 101 that ends with the socket', async () => {
    const before = handler.requests.length;
    const socket = await opened('/record');
    assert.equal(handler.requests.length, before);
    socket.close(1000);
    await handler.logged('echo', /^after close \/record$/);
    await answer(handler);
    const { target, status, outcome } = handler.requests.find((record) => record.target === '/record')!;
    assert.deepEqual({ target, status, outcome }, { target: '/record', status: 101, outcome: { kind: 'ok' } });
  });

  it('joins fragments and answers pings between them', async () => {
    const socket = await opened();
    const echoed = once(socket, 'message') as Promise<[Buffer, boolean]>;
    const pong = once(socket, 'pong') as Promise<[Buffer]>;
    socket.send('a', { fin: false });
    socket.ping('are you there');
    socket.send('b', { fin: false });
    socket.send('c', { fin: true });
    assert.equal(String((await pong)[0]), 'are you there');
    assert.equal(String((await echoed)[0]), 'abc');
    socket.terminate();
  });

  it('compresses messages for clients that ask for it', async () => {
    const socket = await opened('/', [], { perMessageDeflate: true });
    assert.match(socket.extensions, /permessage-deflate/);
    const long = 'compressible '.repeat(50_000);
    assert.equal(await ask(socket, long), long);
    const plain = await opened('/', [], { perMessageDeflate: false });
    assert.equal(plain.extensions, '');
    assert.equal(await ask(plain, long), long);
    socket.terminate();
    plain.terminate();
  });

  it(
    'closes with 1009 at a message above the limit, also a compressed one',
    notOverUws('ends the connection without a close frame'),
    async () => {
      for (const perMessageDeflate of [true, false]) {
        const socket = await opened('/', [], { perMessageDeflate });
        socket.send('x'.repeat(1024 * 1024 + 1));
        assert.equal((await closed(socket))[0], 1009);
      }
      await handler.logged('echo', /^error Max payload size exceeded$/);
    },
  );

  it(
    'of a client that does not read is closed, with a log line',
    notOverUws('waits for no answer to its close frame'),
    async () => {
      const socket = await opened('/slow', [], { perMessageDeflate: false });
      socket.pause();
      socket.send('flood');
      await handler.logged('echo', /WebSocket closed: its client is too slow, \d+ bytes buffered, limit 4194304/);
      socket.terminate();
      await handler.logged('echo', /^close \/slow 1006 {2}false 3$/);
    },
  );

  it(
    'loses nothing of a client that is faster than its worker',
    notOverUws('cannot stop reading a WebSocket'),
    async () => {
      const socket = await opened('/', [], { perMessageDeflate: false });
      const chunk = 'y'.repeat(20_000);
      let received = 0;
      const all = new Promise<void>((resolve) => socket.on('message', () => ++received === 500 && resolve()));
      for (let index = 0; index < 500; index++) socket.send(chunk);
      await all;
      socket.close(1000);
      assert.equal((await closed(socket))[0], 1000);
    },
  );

  it('goes on after an error that a handler throws', async () => {
    const socket = await opened();
    socket.send('throw');
    await handler.logged('echo', /thrown in a handler/);
    assert.equal(await ask(socket, 'still here'), 'still here');
    socket.terminate();
  });

  it('is one of a hundred', async () => {
    const sockets = await Promise.all(Array.from({ length: 100 }, (_, index) => opened(`/many-${index}`)));
    const answers = await Promise.all(sockets.map((socket, index) => ask(socket, `message ${index}`)));
    assert.deepEqual(
      answers,
      sockets.map((_, index) => `message ${index}`),
    );
    for (const socket of sockets) socket.close(1000);
    await Promise.all(sockets.map(closed));
  });

  it('has the CPU budget of an event for each message', async () => {
    const socket = await opened();
    // Together four times the 50 ms that a request of this plan may use.
    for (let index = 0; index < 10; index++) assert.equal(await ask(socket, 'work'), 'worked');
    socket.terminate();
  });

  it('ends with 1011 when a message uses up its CPU budget, the others of its isolate with 1012', async () => {
    const spinner = await opened('/spinner');
    const neighbour = await opened('/neighbour');
    const ends = Promise.all([closed(spinner), closed(neighbour)]);
    spinner.send('spin');
    assert.deepEqual(
      (await ends).map(([code]) => code),
      [1011, 1012],
    );
    await handler.logged('echo', /CPU limit exceeded/);
    const again = await opened();
    assert.equal(await ask(again, 'fresh'), 'fresh');
    again.terminate();
  });
});

describe('bounds of WebSockets', () => {
  it('the wall limit of a request does not end an open socket', async () => {
    const short = await startHandler({ echo }, { wallMs: 1000 });
    try {
      const socket = new WebSocket(`ws://127.0.0.1:${short.port}/`, { headers: { host: 'echo.localhost' } });
      await once(socket, 'open');
      assert.equal((await short.fetch('echo', '/hang')).status, 504);
      assert.equal(await ask(socket, 'alive'), 'alive');
      socket.terminate();
    } finally {
      await short.close();
    }
  });

  it('a deployment has so many and no more, and a closing handler sends 1012', async () => {
    const small = await startHandler({ echo }, { webSocketsMax: 2 });
    const open = (): WebSocket =>
      new WebSocket(`ws://127.0.0.1:${small.port}/`, { headers: { host: 'echo.localhost' } });
    const one = open();
    const two = open();
    await Promise.all([once(one, 'open'), once(two, 'open')]);
    const [, response] = (await once(open(), 'unexpected-response')) as [ClientRequest, IncomingMessage];
    assert.deepEqual([response.statusCode, response.headers['x-platform-error']], [503, 'websocket_limit_exceeded']);
    const end = closed(one);
    small.handler.close();
    assert.deepEqual(await end, [1012, 'Service restart']);
    await small.close();
  });

  it(
    'messages under way count in what their deployment may hold, inflated',
    notOverUws('does not show how much of a message it holds'),
    async () => {
      const small = await startHandler({ echo }, { hostMemoryMb: 24 });
      const half = Buffer.alloc(5 * 1024 * 1024);
      const open = async (): Promise<WebSocket> => {
        const socket = new WebSocket(`ws://127.0.0.1:${small.port}/`, { headers: { host: 'echo.localhost' } });
        await once(socket, 'open');
        return socket;
      };
      // A pong says that all before it was read: 10 KB that are 10 MB.
      const begin = async (socket: WebSocket): Promise<number> => {
        const ended = closed(socket).then(([code]) => code);
        socket.send(half, { fin: false, compress: true });
        socket.send(half, { fin: false, compress: true });
        socket.ping();
        return Promise.race([once(socket, 'pong').then(() => 0), ended]);
      };
      try {
        const sockets = [await open(), await open(), await open()] as const;
        const [one, two, three] = sockets;
        assert.deepEqual([await begin(one), await begin(two), await begin(three)], [0, 0, 1013]);
        await small.logged('echo', /^error A WebSocket message needs \d+ bytes outside of the isolate, but this/);
        const whole = once(one, 'message') as Promise<[Buffer]>;
        one.send('', { fin: true });
        assert.equal((await whole)[0].length, 2 * half.length);
        // What its peer has not taken is counted as of its last message.
        assert.equal(await ask(one, 'small'), 'small');
        assert.equal(await begin(await open()), 0, 'what was whole is not counted any more');
        for (const socket of sockets) socket.terminate();
      } finally {
        await small.close();
      }
    },
  );
});
