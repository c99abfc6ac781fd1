// Durable objects over two engines: one instance each, whichever engine a request comes to; nothing acknowledged is
// lost when an engine dies or is held up, and nothing is counted twice.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';

const worker = `
import { RpcTarget } from 'cloudflare:workers';
class Desk extends RpcTarget {
  #counter;
  constructor(counter) {
    super();
    this.#counter = counter;
  }
  made() {
    return this.#counter.made;
  }
  async each(list, callback) {
    return Promise.all(list.map((item) => callback(item)));
  }
  fail() {
    throw Object.assign(new RangeError('not here'), { status: 404 });
  }
}
export class Counter {
  constructor(ctx) {
    this.ctx = ctx;
    this.made = crypto.randomUUID();
    ctx.blockConcurrencyWhile(async () => { this.count = (await ctx.storage.get('count')) ?? 0; });
  }
  async add(token) {
    this.count++;
    this.ctx.storage.put({ count: this.count, ['seen-' + token]: this.count });
    return { count: this.count, made: this.made };
  }
  desk() {
    return new Desk(this);
  }
  stream() {
    const text = new TextEncoder().encode('x'.repeat(100_000));
    let left = 10;
    return new ReadableStream({
      pull(controller) {
        controller.enqueue(text);
        if (--left === 0) controller.close();
      },
    });
  }
  async bytes(stream) {
    return (await new Response(stream).bytes()).length;
  }
  async seen() {
    return [...await this.ctx.storage.list({ prefix: 'seen-' })].map(([key, count]) => [key.slice(5), count]);
  }
  async wake() {
    await this.ctx.storage.setAlarm(Date.now() + 300);
    return 'set';
  }
  async alarm() {
    await this.ctx.storage.put('rang', ((await this.ctx.storage.get('rang')) ?? 0) + 1);
  }
  async rang() {
    return (await this.ctx.storage.get('rang')) ?? 0;
  }
}
export class Room {
  constructor(ctx) {
    this.ctx = ctx;
  }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) {
    const text = typeof message === 'string' ? message : String(message.byteLength);
    for (const one of this.ctx.getWebSockets()) one.send(text);
  }
}
export default {
  async fetch(request, env) {
    if (request.headers.get('upgrade') === 'websocket') return env.ROOM.getByName('lobby').fetch(request);
    const { pathname, searchParams } = new URL(request.url);
    const object = env.COUNTER.getByName(searchParams.get('name') ?? 'a');
    try {
      if (pathname === '/desk') {
        using desk = await object.desk();
        const failure = await desk.fail().catch((error) => [error.name, error.message, error.status, error.remote]);
        const body = await object.stream();
        return Response.json({
          made: await desk.made(),
          pipelined: await object.desk().made(),
          each: await desk.each([1, 2, 3], (item) => item * 2),
          failure,
          bytes: await object.bytes(body),
          long: (await object.add('x'.repeat(200_000))).count > 0,
        });
      }
      return Response.json((await object[pathname.slice(1)](searchParams.get('token'))) ?? null);
    } catch (error) {
      return Response.json({ error: error.message, code: error.code }, { status: 503 });
    }
  },
};`;

const ROUNDS = Number(process.env['OBJECT_ROUNDS'] ?? 3);

let platform: TestPlatform;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;

before(async () => {
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 2, schema: 'binding' });
  platform = await startPlatform(
    {},
    { DATABASE_URL: database.url, BROKER_POLL_MS: '200', HANDLER_PROCESSES: '2', HANDLER_SPARES: '1' },
  );
  await platform.deploy('counters', worker, 'object: { COUNTER: Counter, ROOM: Room }');
  await platform.answers('counters', '"set"', '/wake?name=warm');
});
after(async () => {
  isClosed = true;
  await platform.close();
  await sql.close();
  await database.close();
});

const serving = async () =>
  (await platform.state()).engines.filter(({ role, state }) => role === 'serving' && state === 'listening');

/** One request on a connection of its own; null: it was lost, or refused. */
function ask(path: string, ms = 10_000): Promise<unknown> {
  return new Promise((resolve) => {
    const lost = (): void => resolve(null);
    const asked = get(
      { host: '127.0.0.1', port: platform.port, path, agent: false, headers: { host: 'counters.localhost' } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', lost);
        response.on('end', () => resolve(response.statusCode === 200 ? (JSON.parse(text) as unknown) : null));
      },
    );
    asked.on('error', lost);
    asked.setTimeout(ms, () => asked.destroy());
  });
}

let isClosed = false;

/** Adds until `stop` is called, or the tests end. @returns what was acknowledged, by token. */
function count(name: string): { stop(): Promise<Map<string, number>>; acknowledged: Map<string, number> } {
  const acknowledged = new Map<string, number>();
  let isOver = false;
  let number = 0;
  const run = async (): Promise<void> => {
    while (!isOver && !isClosed) {
      const token = `${++number}`;
      const answer = (await ask(`/add?name=${name}&token=${token}`, 3000)) as { count: number } | null;
      if (answer !== null) acknowledged.set(token, answer.count);
    }
  };
  const running = Promise.all([run(), run()]);
  return {
    acknowledged,
    async stop() {
      isOver = true;
      await running;
      return acknowledged;
    },
  };
}

/** Every acknowledged count is stored as it was said, and no two say the same. */
async function assertKept(name: string, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  let seen: unknown = null;
  await until(async () => (seen = await ask(`/seen?name=${name}`)) !== null);
  const stored = new Map(seen as [string, number][]);
  for (const [token, counted] of acknowledged) assert.equal(stored.get(token), counted, `${name}: ${token}`);
  assert.equal(new Set(stored.values()).size, stored.size);
}

test('one instance of an object answers, whichever engine a connection comes to', async () => {
  const answers: { count: number; made: string }[] = [];
  for (let at = 1; at <= 20; at++) answers.push((await ask(`/add?name=one&token=${at}`)) as (typeof answers)[number]);
  assert.deepEqual(
    answers.map(({ count: counted }) => counted),
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  assert.equal(new Set(answers.map(({ made }) => made)).size, 1);
});

test('stubs, callbacks and streams of an object work from either engine', async () => {
  const made = new Set<string>();
  for (let at = 0; at < 8; at++) {
    const { made: by, ...answer } = (await ask('/desk?name=desk')) as { made: string; pipelined: string };
    made.add(by).add(answer.pipelined);
    assert.deepEqual(answer, {
      pipelined: by,
      each: [2, 4, 6],
      failure: ['RangeError', 'not here', 404, true],
      bytes: 1_000_000,
      long: true,
    });
  }
  assert.equal(made.size, 1);
});

test('sockets of clients at either engine are in one room', async () => {
  const visitors: { readonly socket: WebSocket; readonly heard: string[] }[] = [];
  for (let at = 0; at < 8; at++) {
    const socket = new WebSocket(`ws://127.0.0.1:${platform.port}/`, { headers: { host: 'counters.localhost' } });
    const heard: string[] = [];
    socket.on('message', (data: Buffer) => void heard.push(data.toString()));
    await once(socket, 'open');
    visitors.push({ socket, heard });
  }
  for (const [at, { socket }] of visitors.entries()) socket.send(`from ${at}`);
  visitors[0]!.socket.send(new Uint8Array(1_000_000));
  await until(() => visitors.every(({ heard }) => heard.length === visitors.length + 1));
  const all = [...visitors.map((_, at) => `from ${at}`), '1000000'].toSorted();
  for (const { heard } of visitors) assert.deepEqual(heard.toSorted(), all);
  for (const { socket } of visitors) socket.close();
});

test('after kill -9 of an engine, another has its objects, and nothing acknowledged is lost', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const counters = Array.from({ length: 8 }, (_, index) => ({
      name: `kill-${round}-${index}`,
      counter: count(`kill-${round}-${index}`),
    }));
    await until(() => counters.every(({ counter }) => counter.acknowledged.size > 3));
    const [victim] = await serving();
    process.kill(victim!.pid, 'SIGKILL');
    await platform.restarted();
    const sizes = counters.map(({ counter }) => counter.acknowledged.size);
    await until(() => counters.every(({ counter }, index) => counter.acknowledged.size > sizes[index]! + 3));
    for (const { name, counter } of counters) await assertKept(name, await counter.stop());
  }
});

test('an engine that is replaced gives its objects away, and nothing is lost', async () => {
  const counters = Array.from({ length: 6 }, (_, index) => ({
    name: `replaced-${index}`,
    counter: count(`replaced-${index}`),
  }));
  await until(() => counters.every(({ counter }) => counter.acknowledged.size > 3));
  for (const { id } of await serving()) {
    await platform.recycle(id);
    const sizes = counters.map(({ counter }) => counter.acknowledged.size);
    await until(() => counters.every(({ counter }, index) => counter.acknowledged.size > sizes[index]! + 3));
  }
  for (const { name, counter } of counters) await assertKept(name, await counter.stop());
});

test('an engine that is held up for longer than its lease writes nothing afterwards', async () => {
  const counter = count('held');
  try {
    await until(() => counter.acknowledged.size > 3);
    const [{ link } = { link: '' }] = await sql.all<{ link: string }>(
      `SELECT e.link FROM object_lease l JOIN object_engine e ON e.holder = l.holder
       ORDER BY l.fence DESC LIMIT 1`,
    );
    const engines = await serving();
    const held = engines.find(({ id }) => link.includes(String(id))) ?? engines[0]!;
    process.kill(held.pid, 'SIGSTOP');
    const before = counter.acknowledged.size;
    await until(() => counter.acknowledged.size > before + 3);
    goOn(held.pid);
    const then = counter.acknowledged.size;
    await until(() => counter.acknowledged.size > then + 3);
  } finally {
    await counter.stop();
  }
  await assertKept('held', counter.acknowledged);
});

/** On a busy machine its supervisor may have replaced it meanwhile. */
function goOn(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
  }
}

test('the alarm of an object rings, also when its engine dies before', async () => {
  // Set once: each call sets the alarm anew, 300 ms from then.
  await until(async () => (await ask('/wake?name=alarm')) === 'set');
  await until(async () => ((await ask('/rang?name=alarm')) as number) >= 1);
  await until(async () => (await ask('/wake?name=alarm2')) === 'set');
  const [victim] = await serving();
  process.kill(victim!.pid, 'SIGKILL');
  await until(async () => ((await ask('/rang?name=alarm2')) as number) >= 1);
});
