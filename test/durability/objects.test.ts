// kill -9 of engines that have 200 durable objects under load, and one that is held up for longer than its lease: no
// acknowledged count, message or alarm is lost, and no object has two instances. DURABILITY_ROUNDS kills.
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';

const ROUNDS = Number(process.env['DURABILITY_ROUNDS'] ?? 2);
const OBJECTS = 200;
/** Requests at a time, and objects with an open socket. */
const [CALLERS, SOCKETS] = [8, 20];
/** Answers that are waited for before and after each kill. */
const PROGRESS = 150;

// Each write says which instance made it, in the order of counts: two instances at a time would be mixed.
const worker = `
export class Journal {
  constructor(ctx) {
    this.ctx = ctx;
    this.instance = crypto.randomUUID();
    const { sql } = ctx.storage;
    sql.exec('CREATE TABLE IF NOT EXISTS entry (count INTEGER PRIMARY KEY, token TEXT, instance TEXT, armed INTEGER, rang INTEGER)');
    this.count = sql.exec('SELECT coalesce(max(count), 0) AS count FROM entry').one().count;
  }
  write(token, armed) {
    const count = ++this.count;
    this.ctx.storage.sql.exec('INSERT INTO entry VALUES (?, ?, ?, ?, 0)', count, token, this.instance, armed ? 1 : 0);
    return count;
  }
  async add(token) {
    return this.write(token, false);
  }
  async arm(token) {
    const count = this.write(token, true);
    await this.ctx.storage.setAlarm(Date.now() + 200);
    return count;
  }
  alarm() {
    this.ctx.storage.sql.exec('UPDATE entry SET rang = rang + 1 WHERE armed = 1 AND rang = 0');
  }
  entries() {
    return this.ctx.storage.sql.exec('SELECT * FROM entry ORDER BY count').toArray();
  }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, token) {
    socket.send(JSON.stringify([token, this.write(token, false)]));
  }
}
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const object = env.JOURNAL.getByName(searchParams.get('name'));
    if (request.headers.get('upgrade') === 'websocket') return object.fetch(request);
    try {
      return Response.json((await object[pathname.slice(1)](searchParams.get('token'))) ?? null);
    } catch (error) {
      return Response.json({ error: error.message, code: error.code }, { status: 503 });
    }
  },
};`;

interface Entry {
  readonly count: number;
  readonly token: string;
  readonly instance: string;
  readonly armed: number;
  readonly rang: number;
}

let platform: TestPlatform;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let isOver = true;
let running: Promise<void>[] = [];
/** What was acknowledged, by object: the count of each token. */
const acknowledged = Array.from({ length: OBJECTS }, () => new Map<string, number>());
const armed = new Set<string>();
let answers = 0;
let tokens = 0;

before(async () => {
  database = await createTestDatabase();
  platform = await startPlatform(
    {},
    { DATABASE_URL: database.url, BROKER_POLL_MS: '200', HANDLER_PROCESSES: '2', HANDLER_SPARES: '1' },
  );
  await platform.deploy('journals', worker, 'object: { JOURNAL: Journal }');
  await until(async () => (await ask('/add?name=warm&token=0')) !== null);
});
after(async () => {
  await endLoad();
  await platform.close();
  await database.close();
});

function beginLoad(): void {
  isOver = false;
  running = [
    ...Array.from({ length: CALLERS }, (_, at) => callOn(at)),
    ...Array.from({ length: SOCKETS }, (_, at) => talk(at)),
  ];
}

async function endLoad(): Promise<void> {
  isOver = true;
  await Promise.all(running);
}

/** One request on a connection of its own; null: it was lost, or refused. */
function ask(path: string): Promise<unknown> {
  return new Promise((resolve) => {
    const lost = (): void => resolve(null);
    const asked = get(
      { host: '127.0.0.1', port: platform.port, path, agent: false, headers: { host: 'journals.localhost' } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', lost);
        response.on('end', () => resolve(response.statusCode === 200 ? (JSON.parse(text) as unknown) : null));
      },
    );
    asked.on('error', lost);
    asked.setTimeout(5000, () => asked.destroy());
  });
}

function acknowledge(object: number, token: string, count: number): void {
  acknowledged[object]!.set(token, count);
  answers++;
}

/** Writes to one object after the other; every fourth write sets an alarm. */
async function callOn(first: number): Promise<void> {
  for (let object = first; !isOver; object = (object + CALLERS) % OBJECTS) {
    const token = `call-${++tokens}`;
    const arms = tokens % 4 === 0;
    const count = await ask(`/${arms ? 'arm' : 'add'}?name=${object}&token=${token}`);
    if (count === null) continue;
    if (arms) armed.add(token);
    acknowledge(object, token, count as number);
  }
}

/** Sends the next message when the last was answered; connects again when the socket is closed. */
async function talk(object: number): Promise<void> {
  while (!isOver) {
    const socket = new WebSocket(`ws://127.0.0.1:${platform.port}/?name=${object}`, {
      headers: { host: 'journals.localhost' },
      handshakeTimeout: 5000,
    });
    await new Promise<void>((resolve) => {
      const say = (): void => (isOver ? socket.close() : socket.send(`socket-${++tokens}`));
      // Its engine may be held up.
      let timer = setTimeout(() => socket.terminate(), 10_000);
      socket.on('open', say);
      socket.on('message', (data: Buffer) => {
        clearTimeout(timer);
        timer = setTimeout(() => socket.terminate(), 10_000);
        const [token, count] = JSON.parse(data.toString()) as [string, number];
        acknowledge(object, token, count);
        say();
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

const serving = async () =>
  (await platform.state()).engines.filter(({ role, state }) => role === 'serving' && state === 'listening');

async function progress(): Promise<void> {
  const from = answers;
  await until(() => answers >= from + PROGRESS);
}

/** Each acknowledged write is stored under its count, each alarm rings, and no two instances wrote in turns. */
async function assertKept(): Promise<void> {
  await endLoad();
  const objects = acknowledged.keys();
  // An iterator that all share.
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (const object of objects) await assertObject(object, acknowledged[object]!);
    }),
  );
}

async function assertObject(object: number, known: ReadonlyMap<string, number>): Promise<void> {
  let entries: readonly Entry[] = [];
  await until(async () => {
    const answer = (await ask(`/entries?name=${object}`)) as readonly Entry[] | null;
    entries = answer ?? [];
    return answer !== null && entries.every((entry) => !armed.has(entry.token) || entry.rang > 0);
  });
  const stored = new Map(entries.map(({ token, count }) => [token, count]));
  for (const [token, count] of known) assert.equal(stored.get(token), count, `object ${object}: ${token}`);
  assert.equal(stored.size, entries.length, `object ${object} wrote a token twice`);
  const turns = entries.filter(({ instance }, at) => instance !== entries[at - 1]?.instance);
  const instances = new Set(entries.map(({ instance }) => instance));
  assert.equal(turns.length, instances.size, `object ${object} had two instances at a time`);
}

test(`after each of ${ROUNDS} kills of an engine nothing acknowledged is lost`, async () => {
  beginLoad();
  for (let round = 0; round < ROUNDS; round++) {
    await progress();
    const engines = await serving();
    process.kill(engines[round % engines.length]!.pid, 'SIGKILL');
    await platform.restarted();
    await progress();
  }
  await assertKept();
});

test('an engine that was held up for longer than its lease acknowledges no write', async () => {
  beginLoad();
  await progress();
  const [held] = await serving();
  process.kill(held!.pid, 'SIGSTOP');
  try {
    // The other engine has taken over each object.
    const from = acknowledged.map(({ size }) => size);
    await until(() => acknowledged.every(({ size }, object) => size > from[object]!));
  } finally {
    try {
      process.kill(held!.pid, 'SIGCONT');
    } catch (error) {
      // On a busy machine its supervisor may have replaced it meanwhile.
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
    }
  }
  await progress();
  await assertKept();
});
