// `ws` in a worker: the client that packages for Node use, over the worker's own WebSockets, against a real server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const server = createServer((_request, response) => response.writeHead(403).end('no'));
const sockets = new WebSocketServer({
  server,
  path: '/echo',
  handleProtocols: (offered) => offered.values().next().value ?? false,
});
let handler: TestHandler;

before(async () => {
  sockets.on('connection', (socket, request) => {
    socket.send(
      JSON.stringify([request.headers['x-key'], request.headers.origin, request.headers['sec-websocket-protocol']]),
    );
    socket.on('message', (data, isBinary) => {
      if (String(data) === 'leave') socket.close(4001, 'as asked');
      else socket.send(data, { binary: isBinary });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  handler = await startHandler({
    client: {
      files: {
        'src/index.ts': `
import { EventEmitter, once } from 'node:events';
import WebSocket, { WebSocket as Named, WebSocketServer } from 'ws';
import dep from 'dep';
export default { async fetch(request) {
  const { pathname, searchParams } = new URL(request.url);
  const base = searchParams.get('base');
  if (pathname === '/node') {
    const ws = new WebSocket(base + '/echo', ['chosen'], { headers: { 'X-Key': 'k' }, origin: 'http://mine.example', perMessageDeflate: false });
    const states = [ws.readyState, ws instanceof EventEmitter, ws.url === base + '/echo', thrown(() => ws.send('early'))];
    const [hello, helloIsBinary] = await once(ws, 'message');
    states.push(ws.readyState, ws.protocol);
    const seen = [];
    ws.on('message', (data, isBinary) => seen.push([Buffer.isBuffer(data), String(data), isBinary]));
    await new Promise((resolve) => ws.send('text', resolve));
    ws.send(Buffer.from('bytes'));
    ws.send('as bytes', { binary: true });
    while (seen.length < 3) await once(ws, 'message');
    ws.ping();
    await once(ws, 'pong');
    ws.send('leave');
    const [code, reason] = await once(ws, 'close');
    const late = await new Promise((resolve) => ws.send('late', resolve));
    return Response.json({ states, hello: JSON.parse(hello), helloIsBinary, seen, code, reason: String(reason), state: ws.readyState, late: late.message });
  }
  if (pathname === '/web') {
    const ws = new Named(base + '/echo');
    ws.binaryType = 'arraybuffer';
    const opened = new Promise((resolve) => { ws.onopen = resolve; });
    const messages = [];
    const ended = new Promise((resolve) => ws.addEventListener('close', resolve));
    ws.addEventListener('message', ({ data, target, type }) => {
      messages.push([typeof data === 'string' ? data : new Uint8Array(data).join(), target === ws, type]);
      if (messages.length === 3) ws.close(4000, 'enough');
    });
    await opened;
    ws.send('text');
    ws.send(new Uint8Array([1, 2]));
    const { code, wasClean } = await ended;
    return Response.json({ messages: messages.slice(1), code, wasClean, open: Named.OPEN, own: ws.CLOSED });
  }
  if (pathname === '/refused') {
    const ws = new WebSocket(base + '/other');
    const [error] = await once(ws, 'error');
    const closed = ws.readyState === WebSocket.CLOSED ? 'closed' : (await once(ws, 'close'))[0];
    return Response.json([error.message, closed]);
  }
  if (pathname === '/server') return Response.json([thrown(() => new WebSocketServer({ port: 1 })), thrown(() => new WebSocket.Server({ port: 1 }))]);
  return Response.json(await dep(base + '/echo'));
} };
const thrown = (run) => { try { run(); return 'nothing'; } catch (error) { return error.message; } };`,
        'node_modules/dep/package.json': '{"name":"dep","main":"index.js"}',
        'node_modules/dep/index.js': `const WebSocket = require('ws'); const { WebSocket: Same } = require('ws');
module.exports = (url) => new Promise((resolve, reject) => { const ws = new WebSocket(url, { headers: { 'x-key': 'dep' } }); ws.on('error', reject); ws.once('message', (data) => { ws.terminate(); ws.once('close', (code) => resolve([JSON.parse(data)[0], Same === WebSocket, code])); }); });`,
      },
    },
  });
});
after(async () => {
  await handler.close();
  for (const client of sockets.clients) client.terminate();
  sockets.close();
  server.close();
});

async function ask(path: string): Promise<unknown> {
  const { port } = server.address() as AddressInfo;
  const { status, text } = await handler.fetch(
    'client',
    `${path}?base=${encodeURIComponent(`ws://127.0.0.1:${port}`)}`,
  );
  assert.equal(status, 200, `${text} ${JSON.stringify(handler.logs.at(-1))}`);
  return JSON.parse(text);
}

test('a client of ws opens with headers, sends, hears and closes by the events of Node', async () => {
  assert.deepEqual(await ask('/node'), {
    states: [0, true, true, 'WebSocket is not open: readyState 0 (CONNECTING)', 1, 'chosen'],
    hello: ['k', 'http://mine.example', 'chosen'],
    helloIsBinary: false,
    seen: [
      [true, 'text', false],
      [true, 'bytes', true],
      [true, 'as bytes', true],
    ],
    code: 4001,
    reason: 'as asked',
    state: 3,
    late: 'WebSocket is not open: readyState 3',
  });
});

test('the same client has the events of the Web', async () => {
  assert.deepEqual(await ask('/web'), {
    messages: [
      ['text', true, 'message'],
      ['1,2', true, 'message'],
    ],
    code: 4000,
    wasClean: true,
    open: 1,
    own: 3,
  });
});

test('a handshake that is refused is an error with the status, then a close', async () => {
  assert.deepEqual(await ask('/refused'), ['Unexpected server response: 400', 'closed']);
});

test('a dependency gets the client by require', async () => {
  assert.deepEqual(await ask('/dep'), ['dep', true, 1006]);
});

test('the server of ws says that a worker has none', async () => {
  const sentence =
    'WebSocketServer of ws cannot run in a worker: it listens on a port of its own, and a worker is called for each request; use WebSocketPair, or a server for Node (kind: ssr)';
  assert.deepEqual(await ask('/server'), [sentence, sentence]);
});
