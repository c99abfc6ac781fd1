// A durable object that sleeps while its WebSockets stay open: what wakes it, what it finds, and what ends its sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { startDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { noStores } from '#test/setup/no-stores.ts';
import { until } from '#test/setup/until.ts';

const worker = `
import { DurableObject } from 'cloudflare:workers';

export class Room extends DurableObject {
  instance = crypto.randomUUID();
  heard = 0;
  constructor(ctx, env) {
    super(ctx, env);
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
  }
  fetch(request) {
    const name = new URL(request.url).searchParams.get('as');
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server, [name, 'all']);
    server.serializeAttachment({ name });
    server.send('welcome ' + name);
    return new Response(null, { status: 101, webSocket: client });
  }
  async webSocketMessage(socket, message) {
    if (typeof message !== 'string') return socket.send(new Uint8Array(message).map((byte) => byte + 1));
    const [what, value] = message.split(' ');
    if (what === 'spin') for (;;);
    if (what === 'limit') return this.ctx.setHibernatableWebSocketEventTimeout(Number(value));
    if (what === 'release') return void (this.isReleased = true);
    if (what === 'later') {
      const look = () => void (this.isReleased ? socket.send('later ' + value) : setTimeout(look, 100));
      return look();
    }
    if (what === 'hang') return new Promise((resolve) => setTimeout(resolve, 600_000));
    if (what === 'abort') this.ctx.abort('enough');
    if (what === 'rename') return socket.serializeAttachment({ name: value });
    if (what === 'count') {
      const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
      this.ctx.storage.put('count', count);
      return socket.send(value + '=' + count);
    }
    socket.send(JSON.stringify({
      instance: this.instance,
      heard: ++this.heard,
      ...socket.deserializeAttachment(),
      tags: this.ctx.getTags(socket),
      all: this.ctx.getWebSockets('all').length,
      same: this.ctx.getWebSockets(this.ctx.getTags(socket)[0])[0] === socket,
      state: socket.readyState,
      auto: this.ctx.getWebSocketAutoResponse()?.request,
      answered: this.ctx.getWebSocketAutoResponseTimestamp(socket) !== null,
      timeout: this.ctx.getHibernatableWebSocketEventTimeout(),
    }));
  }
  webSocketClose(socket, code, reason, clean) {
    const left = [this.ctx.getTags(socket)[0], socket.deserializeAttachment().name, code, reason, clean, socket.readyState];
    this.ctx.storage.put('left', left);
    for (const other of this.ctx.getWebSockets()) other.send('left ' + JSON.stringify(left));
  }
}

export default {
  fetch: (request, env) => env.ROOM.getByName(new URL(request.url).pathname.slice(1)).fetch(request),
};`;

let handler: TestHandler;
let databases: Awaited<ReturnType<typeof startDatabases>>;

before(async () => {
  databases = await startDatabases();
  handler = await startHandler(
    { app: { files: worker, yaml: 'object: { ROOM: Room }' } },
    { objectIdleMs: 1 },
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
  ask(): Promise<Readonly<Record<string, unknown>>>;
}

async function enter(room: string, name: string): Promise<Visitor> {
  const url = `ws://127.0.0.1:${handler.port}/${room}?as=${name}`;
  const socket = new WebSocket(url, { headers: { host: 'app.localhost' } });
  const said: string[] = [];
  let wake: (() => void) | null = null;
  socket.on('message', (data: Buffer, isBinary) => {
    said.push(isBinary ? data.toString('hex') : data.toString());
    wake?.();
  });
  await once(socket, 'open');
  const visitor: Visitor = {
    socket,
    async next() {
      while (said.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return said.shift()!;
    },
    async ask() {
      socket.send('who');
      return JSON.parse(await visitor.next()) as Readonly<Record<string, unknown>>;
    },
  };
  assert.equal(await visitor.next(), `welcome ${name}`);
  return visitor;
}

/** Resolves when no object is in memory. */
async function asleep(): Promise<void> {
  await until(() => handler.handler.objectCounts.inMemory === 0);
}

async function leave(...visitors: readonly Visitor[]): Promise<void> {
  for (const { socket } of visitors) {
    socket.close(1000);
    await once(socket, 'close');
  }
  await until(() => handler.handler.objectCounts.sockets === 0);
}

test('an object sleeps with open sockets, and wakes with their tags and attachments', async () => {
  const [ada, bob] = [await enter('a', 'ada'), await enter('a', 'bob')];
  const first = await ada.ask();
  await asleep();
  assert.equal(handler.handler.objectCounts.sockets, 2);
  const second = await ada.ask();
  assert.notEqual(second['instance'], first['instance']);
  const { instance, ...rest } = second;
  assert.equal(typeof instance, 'string');
  assert.deepEqual(rest, {
    heard: 1,
    name: 'ada',
    tags: ['ada', 'all'],
    all: 2,
    same: true,
    state: 1,
    auto: 'ping',
    answered: false,
    timeout: null,
  });
  bob.socket.send('rename bobby');
  await asleep();
  assert.equal((await bob.ask())['name'], 'bobby');
  await leave(ada, bob);
});

test('a message with an automatic response does not wake it', async () => {
  const ada = await enter('b', 'ada');
  await asleep();
  ada.socket.send('ping');
  assert.equal(await ada.next(), 'pong');
  assert.equal(handler.handler.objectCounts.inMemory, 0);
  assert.equal((await ada.ask())['answered'], true);
  await leave(ada);
});

test('messages that arrive while it wakes keep their order, of bytes as well', async () => {
  const ada = await enter('c', 'ada');
  await asleep();
  for (let at = 1; at <= 300; at++) ada.socket.send(`count ${at}`);
  ada.socket.send(Buffer.from([1, 2, 254]));
  for (let at = 1; at <= 300; at++) assert.equal(await ada.next(), `${at}=${at}`);
  assert.equal(await ada.next(), '0203ff');
  await leave(ada);
});

test('the end of a socket wakes it', async () => {
  const [ada, bob] = [await enter('d', 'ada'), await enter('d', 'bob')];
  await asleep();
  bob.socket.close(4001, 'bye');
  assert.equal(await ada.next(), 'left ["bob","bob",4001,"bye",true,3]');
  const carol = await enter('d', 'carol');
  await asleep();
  carol.socket.terminate();
  assert.equal(await ada.next(), 'left ["carol","carol",1006,"",false,3]');
  await leave(ada);
});

test('its sockets outlive an isolate that used up its budget, and lose no message that had not begun', async () => {
  const [ada, bob] = [await enter('e', 'ada'), await enter('e', 'bob')];
  const { instance } = await ada.ask();
  bob.socket.send('spin');
  for (let at = 1; at <= 20; at++) bob.socket.send(`count ${at}`);
  for (let at = 1; at <= 20; at++) assert.equal(await bob.next(), `${at}=${at}`);
  await handler.logged('app', /CPU limit exceeded/);
  const after = await ada.ask();
  assert.notEqual(after['instance'], instance);
  assert.equal(after['name'], 'ada');
  await leave(ada, bob);
});

test('an event that runs for longer than the object allows is ended', async () => {
  const ada = await enter('f', 'ada');
  ada.socket.send('limit 50');
  ada.socket.send('hang');
  await handler.logged('app', /did not respond within 50 ms/);
  await asleep();
  assert.equal((await ada.ask())['timeout'], 50);
  await leave(ada);
});

test('what a message starts without awaiting it goes on, and holds no further message back', async () => {
  const ada = await enter('h', 'ada');
  ada.socket.send('limit 50');
  // More than the object handles at a time.
  const numbers = Array.from({ length: 400 }, (_, at) => `later ${at}`);
  for (const number of numbers) ada.socket.send(number);
  ada.socket.send('count 1');
  assert.equal(await ada.next(), '1=1');
  ada.socket.send('release');
  const later = new Set<string>();
  while (later.size < numbers.length) later.add(await ada.next());
  assert.deepEqual([...later].sort(), numbers.toSorted());
  await leave(ada);
});

test('an object that aborts closes its sockets', async () => {
  const ada = await enter('g', 'ada');
  await asleep();
  ada.socket.send('abort');
  const [code, reason] = (await once(ada.socket, 'close')) as [number, Buffer];
  assert.deepEqual([code, reason.toString()], [1011, 'enough']);
  await until(() => handler.handler.objectCounts.sockets === 0);
});

test('the end of the handler closes sockets with 1012', async () => {
  const ada = await enter('h', 'ada');
  await asleep();
  const closed = once(ada.socket, 'close') as Promise<[number]>;
  handler.handler.close();
  assert.equal((await closed)[0], 1012);
});
