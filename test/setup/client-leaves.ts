// Clients that leave at each point of a request, against whatever serves it: a handler, engines that forward, `platform
// dev`. The handler runs on to its end, with what it gave to `waitUntil`; `request.signal` fires, a streamed answer is
// cancelled.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { send } from './send.ts';
import { until } from './until.ts';

/** Its steps are named by the path; what follows a hyphen tells requests apart. `/said?of=<name>` is what one said.
 * The work that `refuses` gave to `waitUntil` ends behind `/release`. */
export const leavingWorker = `const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
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
  socket(request, gone, say) {
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    server.addEventListener('close', ({ code }) => say('close ' + code));
    return new Response(null, { status: 101, webSocket: client });
  },
  refuses() {
    throw new TypeError('no');
  },
  release() {
    return new Response('');
  },
  answered() {
    return new Response('read');
  },
};
const told = [];
let isReleased = false;
const released = async () => { while (!isReleased) await pause(5); };
export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url);
    const name = pathname.slice(1);
    if (name === 'release') isReleased = true;
    if (name === 'said') return Response.json(told.filter(([of]) => of === searchParams.get('of')).map(([, what]) => what));
    const say = (what) => {
      told.push([name, what]);
      console.log(name + ' ' + what);
    };
    const gone = new Promise((resolve) => request.signal.addEventListener('abort', resolve));
    gone.then(() => say('signal: ' + request.signal.reason.name));
    context.waitUntil((name === 'refuses' ? released() : pause(30)).then(() => say('waited')));
    // A handler that waits for its client alone, with nothing pending, counts as one that never answers.
    const pending = setInterval(() => {}, 5);
    say('begins');
    try {
      return await steps[name.replace(/-.*/, '')](request, gone, say);
    } finally {
      clearInterval(pending);
      say('ends');
    }
  },
};
`;

/** Whom clients leave. */
export interface Left {
  readonly port: number;
  /** As `Host`. */
  readonly host: string;
}

/** What the worker said of a request, sorted: signal and end come in either order. */
export async function saidOf({ port, host }: Left, name: string): Promise<string[]> {
  const response = await send(port, host, `/said?of=${name}`, { headers: { connection: 'close' } });
  return (response.json() as string[]).toSorted();
}

/** A connection on which the head of a request is begun. */
async function begin({ port, host }: Left, head: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`${head}\r\nhost: ${host}\r\n`);
  return socket;
}

const GONE = ['begins', 'ends', 'signal: AbortError', 'waited'];
const UPGRADE =
  'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';

/** Where a client leaves without reading: the step, what follows the head, and all that is said of it. */
export const leavings: readonly (readonly [where: string, step: string, more: string, said: readonly string[]])[] = [
  ['before the answer begins', 'head', '\r\n', GONE],
  [
    'while its body is on its way',
    'body',
    'content-length: 1000000\r\n\r\nhalf',
    ['begins', 'body: The client closed the connection', 'ends', 'signal: AbortError', 'waited'],
  ],
  [
    'before an answer that would stream',
    'late',
    '\r\n',
    ['begins', 'canceled', 'ends', 'signal: AbortError', 'waited'],
  ],
  ['before an answer of 5 MB', 'large', '\r\n', GONE],
  ['before a WebSocket opens', 'upgrade', UPGRADE, GONE],
  ['before its handler throws', 'throws', '\r\n', GONE],
];

/** Leaves a request once its handler has begun. */
export async function leave(left: Left, name: string, more: string): Promise<void> {
  const socket = await begin(left, `GET /${name} HTTP/1.1`);
  socket.write(more);
  await until(async () => (await saidOf(left, name)).includes('begins') || null);
  socket.destroy();
}

/** Leaves a request once an answer has come that far. */
async function leaveAfter(left: Left, name: string, more: string, seen: string): Promise<void> {
  const socket = await begin(left, `GET /${name} HTTP/1.1`);
  socket.write(more);
  let text = '';
  for await (const chunk of socket) if ((text += String(chunk)).includes(seen)) break;
  socket.destroy();
}

/**
 * Tests of all points at which a client can leave.
 *
 * @param rounds connections of each; where several engines share a port, some of them are forwarded.
 */
export function testLeavings(left: () => Left, rounds: number): void {
  const names = (step: string): string[] => Array.from({ length: rounds }, (_, round) => `${step}-${round}`);
  const expectSaid = async (name: string, said: readonly string[]): Promise<void> => {
    const found = await until(async () => {
      const now = await saidOf(left(), name);
      return now.length >= said.length && now;
    });
    assert.deepEqual(found, said, name);
  };
  for (const [where, step, more, said] of leavings)
    test(`a client leaves ${where}`, async () => {
      for (const name of names(step)) {
        await leave(left(), name, more);
        await expectSaid(name, said);
      }
    });

  test('a client leaves before its head is whole: no handler is called, and the next one is answered', async () => {
    for (const name of names('answered')) {
      (await begin(left(), `GET /${name} HTTP/1.1`)).destroy();
      await leaveAfter(left(), name, '\r\n', 'read');
      await expectSaid(name, ['begins', 'ends', 'waited']);
    }
  });

  test('a client leaves in the middle of a stream', async () => {
    for (const name of names('stream')) {
      await leaveAfter(left(), name, '\r\n', 'piece 2');
      await expectSaid(name, ['begins', 'canceled', 'ends', 'signal: AbortError', 'waited']);
    }
  });

  test('a client leaves a connection that is kept, between two requests and in the second', async () => {
    for (const name of names('head-kept')) {
      const socket = await begin(left(), `GET /answered-${name} HTTP/1.1`);
      socket.write('\r\n');
      let text = '';
      while (!text.endsWith('read')) text += String((await once(socket, 'data'))[0]);
      socket.write(`GET /${name} HTTP/1.1\r\nhost: ${left().host}\r\n\r\n`);
      await until(async () => (await saidOf(left(), name)).includes('begins') || null);
      socket.destroy();
      await expectSaid(name, GONE);
      await expectSaid(`answered-${name}`, ['begins', 'ends', 'waited']);
    }
  });

  test('a client leaves an open WebSocket: its worker gets the close event', async () => {
    for (const name of names('socket')) {
      await leaveAfter(left(), name, UPGRADE, '\r\n\r\n');
      await expectSaid(name, ['begins', 'close 1006', 'ends', 'waited']);
    }
  });
}
