// WebSockets that workers open themselves, against a server of this machine: `new WebSocket`, `fetch` with an upgrade,
// passing a socket on, the egress policy; and EventSource, which streams over fetch.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const worker = `
const upgraded = (url, headers = {}) => fetch(url, { headers: { upgrade: 'websocket', ...headers } });
const next = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
const thrown = (run) => { try { run(); return 'nothing'; } catch (error) { return error.name; } };
let kept;
export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const base = searchParams.get('base');
    if (pathname === '/proxy') return fetch(base.replace('ws:', 'http:') + '/echo', request);
    if (pathname === '/classes') return Response.json([
      new WebSocketPair()[0] instanceof WebSocket, WebSocket.OPEN, WebSocket.READY_STATE_CLOSED, typeof WebSocket.prototype.accept, new WebSocketPair()[1] instanceof EventTarget,
      thrown(() => new WebSocket('nonsense')), thrown(() => new WebSocket('ftp://a.example')), thrown(() => new WebSocket('ws://a.example/#x')),
      thrown(() => new WebSocket('ws://a.example', ['a', 'a'])), thrown(() => new WebSocket('ws://a.example', 'a b')),
      thrown(() => new Response(null, { webSocket: new WebSocketPair()[0] })), thrown(() => new Response(null, { status: 101, webSocket: {} })),
      thrown(() => new Response(null, { status: 101, webSocket: new WebSocketPair()[0] }).clone()),
      thrown(() => new WebSocketPair()[0].send('x')), new Response('').webSocket,
    ]);
    if (pathname === '/pair') {
      const { 0: one, 1: two } = new WebSocketPair();
      const seen = [];
      two.addEventListener('message', ({ data }) => { seen.push(typeof data === 'string' ? data : new Uint8Array(data)[0]); });
      one.accept();
      one.send('early');
      two.accept();
      one.send(new Uint8Array([7]));
      seen.push('sync');
      const ends = Promise.all([next(one, 'close'), next(two, 'close')]);
      one.close(1001, 'done');
      const [first, second] = await ends;
      return Response.json([seen, first.code, second.code, second.reason, second.wasClean, one.readyState, two.readyState, thrown(() => two.close(1005))]);
    }
    if (pathname === '/client') {
      const socket = new WebSocket(base + '/echo', ['x', 'chosen']);
      const states = [socket.readyState, socket.binaryType, thrown(() => socket.send('too early')), thrown(() => socket.close(1001)), thrown(() => socket.close(1000, 'x'.repeat(124)))];
      await next(socket, 'open');
      socket.send('text');
      const text = (await next(socket, 'message'));
      socket.send(new Blob(['ab']));
      const blob = (await next(socket, 'message')).data;
      socket.binaryType = 'arraybuffer';
      socket.send(new Uint16Array([258]));
      const buffer = (await next(socket, 'message')).data;
      socket.close(4000, 'enough');
      const closing = socket.readyState;
      const { code, reason, wasClean } = await next(socket, 'close');
      return Response.json({ states, protocol: socket.protocol, url: socket.url, text: text.data, origin: text.origin, blob: await blob.text(), buffer: [...new Uint8Array(buffer)], closing, code, reason, wasClean, state: socket.readyState });
    }
    if (pathname === '/server-closes' || pathname === '/server-drops') {
      const socket = new WebSocket(base + pathname);
      const { code, reason, wasClean } = await next(socket, 'close');
      return Response.json([code, reason, wasClean]);
    }
    if (pathname === '/fails') {
      const socket = new WebSocket(searchParams.get('to'));
      const error = await next(socket, 'error');
      const { code } = await next(socket, 'close');
      return Response.json([error.message, code, socket.readyState]);
    }
    if (pathname === '/aborts') {
      const socket = new WebSocket(base + '/never');
      socket.close();
      await next(socket, 'error');
      const { code } = await next(socket, 'close');
      return Response.json([code, socket.readyState]);
    }
    if (pathname === '/fetch') {
      const response = await upgraded(base.replace('ws:', 'http:') + '/echo', { 'sec-websocket-protocol': 'chosen' });
      const socket = response.webSocket;
      socket.accept();
      socket.send('over fetch');
      const { data } = await next(socket, 'message');
      socket.close(1000);
      await next(socket, 'close');
      return Response.json([response.status, response.headers.get('sec-websocket-protocol'), data]);
    }
    if (pathname === '/fetch-refused') {
      const response = await upgraded(base.replace('ws:', 'http:') + '/plain');
      return Response.json([response.status, response.webSocket, await response.text()]);
    }
    if (pathname === '/fetch-redirected') {
      const response = await upgraded(base.replace('ws:', 'http:') + '/moved');
      response.webSocket.accept();
      response.webSocket.send('moved');
      return Response.json((await next(response.webSocket, 'message')).data);
    }
    if (pathname === '/leaves') {
      kept = new WebSocket(base + '/left');
      await next(kept, 'open');
      return Response.json('open');
    }
    if (pathname === '/events') {
      const source = new EventSource(base.replace('ws:', 'http:') + '/events');
      const seen = [];
      source.onopen = () => seen.push('open');
      source.onerror = () => seen.push('error ' + source.readyState);
      source.onmessage = ({ data, lastEventId, origin }) => seen.push([data, lastEventId, origin === base.replace('ws:', 'http:')]);
      const { data } = await next(source, 'end');
      source.close();
      return Response.json([seen, data, source.readyState]);
    }
    if (pathname === '/events-refused') {
      const source = new EventSource(base.replace('ws:', 'http:') + '/plain');
      await next(source, 'error');
      return Response.json([source.readyState]);
    }
    return new Response('?', { status: 404 });
  },
};
`;

const honoWorker = `
import { Hono } from 'hono';
import { upgradeWebSocket } from 'hono/cloudflare-workers';
const app = new Hono();
app.get('/ws', upgradeWebSocket(() => ({
  onMessage(event, ws) { ws.send('hono heard ' + event.data); if (event.data === 'bye') ws.close(1000, 'bye'); },
  onClose() { console.log('hono closed'); },
})));
export default app;
`;

let handler: TestHandler;
let server: Server;
let sockets: WebSocketServer;
let base = '';
const eventRequests: (string | undefined)[] = [];
const leftCodes: Promise<unknown[]>[] = [];

before(async () => {
  const plain = new Set(['/moved', '/plain', '/events']);
  server = createServer({ shouldUpgradeCallback: ({ url }) => !plain.has(url!) }, (request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/echo' }).end();
    else if (request.url === '/events') {
      eventRequests.push(request.headers['last-event-id'] as string | undefined);
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      if (eventRequests.length === 1)
        response.end('retry: 1\n: comment\n\nid: 7\rdata: one\r\ndata:two\n\ndata: cut off');
      else response.write('event: end\ndata: {"last":1}\n\n');
    } else response.end('plain answer');
  });
  sockets = new WebSocketServer({ server, handleProtocols: (offered) => (offered.has('chosen') ? 'chosen' : false) });
  sockets.on('connection', (socket, request) => {
    if (request.url === '/server-closes') socket.close(4002, 'not now');
    else if (request.url === '/server-drops') socket.terminate();
    else if (request.url === '/left') leftCodes.push(once(socket, 'close'));
    else socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  handler = await startHandler({ worker, hono: honoWorker });
});
after(async () => {
  await handler?.close();
  for (const socket of sockets.clients) socket.terminate();
  server.closeAllConnections();
  server.close();
});

async function result(path: string): Promise<unknown> {
  const response = await handler.fetch(
    'worker',
    `${path}${path.includes('?') ? '&' : '?'}base=${encodeURIComponent(base)}`,
  );
  return response.status === 200 ? response.json() : response.text;
}

describe('the WebSocket classes', () => {
  it('are as the standards say', async () => {
    assert.deepEqual(await result('/classes'), [
      true,
      1,
      3,
      'function',
      true,
      'SyntaxError',
      'SyntaxError',
      'SyntaxError',
      'SyntaxError',
      'SyntaxError',
      'RangeError',
      'TypeError',
      'TypeError',
      'TypeError',
      null,
    ]);
  });

  it('join both ends of a pair inside the isolate', async () => {
    assert.deepEqual(await result('/pair'), [['sync', 'early', 7], 1001, 1001, 'done', true, 3, 3, 'nothing']);
  });
});

describe('a WebSocket that a worker opens', () => {
  it('connects, sends and receives text, blobs and bytes, and closes with a code', async () => {
    assert.deepEqual(await result('/client'), {
      states: [0, 'blob', 'InvalidStateError', 'InvalidAccessError', 'SyntaxError'],
      protocol: 'chosen',
      url: `${base}/echo`,
      text: 'text',
      origin: base,
      blob: 'ab',
      buffer: [2, 1],
      closing: 2,
      code: 4000,
      reason: 'enough',
      wasClean: true,
      state: 3,
    });
  });

  it('hears how the other side ended it', async () => {
    assert.deepEqual(await result('/server-closes'), [4002, 'not now', true]);
    assert.deepEqual(await result('/server-drops'), [1006, '', false]);
  });

  it('fails with an error and code 1006 where there is no WebSocket server', async () => {
    const refused = (await result(
      `/fails?to=${encodeURIComponent(`${base}/echo`.replace(/:\d+/, ':1'))}`,
    )) as unknown[];
    assert.deepEqual([/ECONNREFUSED/.test(String(refused[0])), ...refused.slice(1)], [true, 1006, 3]);
    assert.deepEqual(await result('/aborts'), [1006, 3]);
  });

  it('reaches no private address', async () => {
    assert.deepEqual(await result('/fails?to=ws://10.0.0.1/'), ['Requests to 10.0.0.1 are not allowed', 1006, 3]);
    assert.deepEqual(await result(`/fails?to=${encodeURIComponent('ws://169.254.169.254/')}`), [
      'Requests to 169.254.169.254 are not allowed',
      1006,
      3,
    ]);
  });

  it('opens through fetch, follows redirects, and gives the response of a server that refuses', async () => {
    assert.deepEqual(await result('/fetch'), [101, 'chosen', 'over fetch']);
    assert.equal(await result('/fetch-redirected'), 'moved');
    assert.deepEqual(await result('/fetch-refused'), [200, null, 'plain answer']);
  });

  it('is closed when its invocation is over', async () => {
    assert.equal(await result('/leaves'), 'open');
    const [code] = (await leftCodes[0]) as [number];
    assert.equal(code, 1001);
  });

  it('can be handed on to the client of the worker', async () => {
    const client = new WebSocket(`ws://127.0.0.1:${handler.port}/proxy?base=${encodeURIComponent(base)}`, {
      headers: { host: 'worker.localhost' },
    });
    await once(client, 'open');
    client.send('through');
    const [data] = (await once(client, 'message')) as [Buffer];
    assert.equal(data.toString(), 'through');
    client.close(4001, 'end to end');
    const [code] = (await once(client, 'close')) as [number];
    assert.equal(code, 4001);
  });
});

describe('upgradeWebSocket of hono for Cloudflare Workers', () => {
  it('runs unmodified', async () => {
    const client = new WebSocket(`ws://127.0.0.1:${handler.port}/ws`, { headers: { host: 'hono.localhost' } });
    await once(client, 'open');
    const close = once(client, 'close') as Promise<[number, Buffer]>;
    client.send('bye');
    const [data] = (await once(client, 'message')) as [Buffer];
    const [code, reason] = await close;
    assert.deepEqual([data.toString(), code, reason.toString()], ['hono heard bye', 1000, 'bye']);
    await handler.logged('hono', /^hono closed$/);
    assert.equal((await handler.fetch('hono', '/ws')).status, 404);
  });
});

describe('EventSource', () => {
  it('reads events in every framing, and comes back with the last id', async () => {
    assert.deepEqual(await result('/events'), [['open', ['one\ntwo', '7', true], 'error 0', 'open'], '{"last":1}', 2]);
    assert.deepEqual(eventRequests, [undefined, '7']);
  });

  it('gives up where no event stream answers', async () => {
    assert.deepEqual(await result('/events-refused'), [2]);
  });
});
