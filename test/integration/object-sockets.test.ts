// WebSockets that a durable object accepts: a chat room, from handshake to close.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { startDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { noStores } from '#test/setup/no-stores.ts';

const worker = `
import { DurableObject } from 'cloudflare:workers';

export class Room extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
  }
  fetch(request) {
    const name = new URL(request.url).searchParams.get('as');
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server, [name, 'all']);
    server.serializeAttachment({ name });
    return new Response(null, { status: 101, webSocket: client });
  }
  async webSocketMessage(socket, message) {
    const { name } = socket.deserializeAttachment();
    if (message === 'tags') return socket.send(JSON.stringify([this.ctx.getTags(socket), this.ctx.getWebSockets('ada').length]));
    if (message === 'leave') return socket.close(4000, 'bye ' + name);
    if (message === 'throw') throw new Error('thrown in the room');
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    this.ctx.storage.put('count', count);
    for (const other of this.ctx.getWebSockets('all')) other.send(name + ': ' + message + ' (' + count + ')');
  }
  webSocketClose(socket, code, reason) {
    this.ctx.storage.put('left', [socket.deserializeAttachment().name, code, reason]);
  }
  left() { return this.ctx.storage.get('left'); }
  size() { return this.ctx.getWebSockets().length; }
}

export default {
  async fetch(request, env) {
    const room = env.ROOM.getByName('lobby');
    if (request.headers.get('upgrade') === 'websocket') return room.fetch(request);
    return Response.json(await room[new URL(request.url).pathname.slice(1)]() ?? null);
  },
};`;

let handler: TestHandler;
let databases: Awaited<ReturnType<typeof startDatabases>>;

before(async () => {
  databases = await startDatabases();
  handler = await startHandler(
    { app: { files: worker, yaml: 'object: { ROOM: Room }' } },
    {},
    { stores: { ...noStores, database: databases.client } },
  );
});
after(async () => {
  await handler.close();
  await databases.close();
});

interface Visitor {
  readonly socket: WebSocket;
  next(): Promise<string>;
}

async function enter(name: string): Promise<Visitor> {
  const socket = new WebSocket(`ws://127.0.0.1:${handler.port}/?as=${name}`, { headers: { host: 'app.localhost' } });
  const said: string[] = [];
  let wake: (() => void) | null = null;
  socket.on('message', (data: Buffer) => {
    said.push(data.toString());
    wake?.();
  });
  await once(socket, 'open');
  return {
    socket,
    async next() {
      while (said.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return said.shift()!;
    },
  };
}

const ask = async (path: string): Promise<unknown> => JSON.parse((await handler.fetch('app', path)).text) as unknown;

test('a room sends what one visitor says to all, and stores it', async () => {
  const [ada, bob] = [await enter('ada'), await enter('bob')];
  ada.socket.send('hello');
  assert.deepEqual([await ada.next(), await bob.next()], ['ada: hello (1)', 'ada: hello (1)']);
  bob.socket.send('hi');
  assert.deepEqual([await ada.next(), await bob.next()], ['bob: hi (2)', 'bob: hi (2)']);
  ada.socket.send('tags');
  assert.equal(await ada.next(), '[["ada","all"],1]');
  ada.socket.send('ping');
  assert.equal(await ada.next(), 'pong');
  assert.equal(await ask('/size'), 2);

  bob.socket.send('throw');
  await handler.logged('app', /thrown in the room/);
  bob.socket.send('still here');
  assert.equal(await bob.next(), 'bob: still here (3)');

  bob.socket.send('leave');
  const [code, reason] = (await once(bob.socket, 'close')) as [number, Buffer];
  assert.deepEqual([code, reason.toString()], [4000, 'bye bob']);
  ada.socket.close(4001, 'gone');
  await once(ada.socket, 'close');
  let left: unknown = null;
  while (JSON.stringify(left) !== '["ada",4001,"gone"]') left = await ask('/left');
  assert.equal(await ask('/size'), 0);
});
