// Clients that leave before their answer is complete, at each point of a request: the handler runs on to its end, with
// what it gave to `waitUntil`; `request.signal` fires, and a streamed answer is cancelled.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';

const worker = `const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const steps = {
  async head(request, gone) {
    await gone;
    for (let at = 0; at < 3; at++) await pause(1);
    return new Response('nobody reads this');
  },
  async body(request, gone, say) {
    await request.text().catch((error) => say('body: ' + error.message));
    await pause(1);
    return new Response('nobody reads this');
  },
  stream(request, gone, say) {
    let at = 0;
    const pull = async (controller) => {
      await pause(1);
      controller.enqueue(new TextEncoder().encode('piece ' + at++));
    };
    return new Response(new ReadableStream({ pull, cancel: () => say('canceled') }));
  },
  async late(request, gone, say) {
    await gone;
    return new Response(new ReadableStream({ pull: () => pause(100), cancel: () => say('canceled') }));
  },
  async large(request, gone, say) {
    await gone;
    return new Response('x'.repeat(5_000_000));
  },
  async throws(request, gone) {
    await gone;
    await pause(1);
    throw new TypeError('afterwards');
  },
  async spins(request, gone) {
    await gone;
    for (;;);
  },
  async upgrade(request, gone) {
    await gone;
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    return new Response(null, { status: 101, webSocket: client });
  },
  async passes(request, gone, say) {
    await fetch('http://' + request.headers.get('elsewhere') + '/', { signal: request.signal }).catch((error) =>
      say('fetch: ' + error.name),
    );
    return new Response('nobody reads this');
  },
  refuses() {
    throw new TypeError('no');
  },
  answered() {
    return new Response('read');
  },
};
export default {
  async fetch(request, env, context) {
    const name = new URL(request.url).pathname.slice(1);
    const say = (what) => console.log(name + ' ' + what);
    const gone = new Promise((resolve) => request.signal.addEventListener('abort', resolve));
    gone.then(() => say('signal: ' + request.signal.reason.name));
    context.waitUntil(pause(30).then(() => say('waited')));
    // A handler that waits for its client alone, with nothing pending, counts as one that never answers.
    const pending = setInterval(() => {}, 5);
    say('begins');
    try {
      return await steps[name](request, gone, say);
    } finally {
      clearInterval(pending);
      say('ends');
    }
  },
};
`;

/** Calls the host before any request. */
const early = `const told = fetch('http://app.localhost/').catch((error) => error.message);
export default { fetch: async () => new Response(await told) };
`;

let handler: TestHandler;
before(async () => {
  handler = await startHandler({ app: worker, early });
});
after(() => handler.close());

/** What the worker said of a request, sorted: signal and end come in either order. */
const said = (name: string): string[] =>
  handler.logs.flatMap(({ text }) => (text.startsWith(`${name} `) ? [text.slice(name.length + 1)] : [])).toSorted();

async function ask(head: string): Promise<Socket> {
  const socket = connect(handler.port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`${head}\r\nhost: app.localhost\r\n`);
  return socket;
}

/** How its request ended, once it has. */
const endOf = (name: string): Promise<string> =>
  until(() => {
    const ended = handler.requests.find(({ target }) => target === `/${name}`);
    return ended === undefined ? null : ended.outcome.kind === 'ok' ? 'ok' : ended.outcome.code;
  });

const GONE = ['begins', 'ends', 'signal: AbortError', 'waited'];

for (const [where, name, more, outcome, expected] of [
  ['before the answer begins', 'head', '\r\n', 'client_gone', GONE],
  [
    'while its body is on its way',
    'body',
    'content-length: 1000000\r\n\r\nhalf',
    'client_gone',
    ['begins', 'body: The client closed the connection', 'ends', 'signal: AbortError', 'waited'],
  ],
  [
    'before an answer that would stream',
    'late',
    '\r\n',
    'client_gone',
    ['begins', 'canceled', 'ends', 'signal: AbortError', 'waited'],
  ],
  ['before an answer of 5 MB', 'large', '\r\n', 'client_gone', GONE],
  ['before a WebSocket opens', 'upgrade', UPGRADE(), 'client_gone', GONE],
  ['before its handler throws', 'throws', '\r\n', 'worker_threw', GONE],
  [
    'before its handler spins: its CPU is bounded as ever',
    'spins',
    '\r\n',
    'cpu_limit_exceeded',
    ['begins', 'signal: AbortError'],
  ],
] as const)
  test(`a client leaves ${where}`, async () => {
    const socket = await ask(`GET /${name} HTTP/1.1`);
    socket.write(more);
    await until(() => said(name).includes('begins') || null);
    socket.destroy();
    assert.equal(await endOf(name), outcome);
    assert.deepEqual(said(name), expected);
  });

function UPGRADE(): string {
  return 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
}

test('a client leaves in the middle of a stream', async () => {
  const socket = await ask('GET /stream HTTP/1.1');
  socket.write('\r\n');
  let text = '';
  for await (const chunk of socket) if ((text += String(chunk)).includes('piece 2')) break;
  socket.destroy();
  assert.equal(await endOf('stream'), 'ok');
  assert.deepEqual(said('stream'), ['begins', 'canceled', 'ends', 'signal: AbortError', 'waited']);
});

test('a client that has its answer and leaves its connection cuts nothing off, and no signal fires', async () => {
  const socket = await ask('GET /answered HTTP/1.1');
  socket.write('\r\n');
  let text = '';
  for await (const chunk of socket) if ((text += String(chunk)).endsWith('read')) break;
  socket.destroy();
  assert.equal(await endOf('answered'), 'ok');
  assert.deepEqual(said('answered'), ['begins', 'ends', 'waited']);
});

test('a handler that throws answers at once, and loses nothing of what it gave to waitUntil', async () => {
  const answer = await handler.fetch('app', '/refuses');
  assert.equal(answer.status, 500);
  assert.deepEqual(said('refuses'), ['begins', 'ends']);
  assert.equal(await endOf('refuses'), 'worker_threw');
  assert.deepEqual(said('refuses'), ['begins', 'ends', 'waited']);
});

test('what a module calls at its top level says that it is called there', async () => {
  const { text } = await handler.fetch('early');
  assert.equal(text, 'A binding or fetch was called at the top level of a module: call it in a handler');
});
