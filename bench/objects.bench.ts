// What a durable object costs beside miniflare in the same run: calls and storage, one operation at a time and sixteen;
// messages over a socket that hibernates, waking, and the memory of live objects and of sleeping sockets. CPU of all
// processes that take part.
// `npm run bench objects`
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startObjects } from './bindings-platforms.ts';
import { cpuMs, residentBytes, rounds, seconds } from './load.ts';
import { ask, type Server } from './servers.ts';
import { digits, formatTable, median, percentile } from './statistics.ts';
import { loadSockets, openSocket } from './websocket-load.ts';

/** Operations of the first round, and the share of miniflare's CPU that ours may take. */
const operations: Readonly<Record<string, { readonly first: number; readonly aim: number }>> = {
  fetch: { first: 300, aim: 1 },
  call: { first: 300, aim: 1 },
  put: { first: 200, aim: 1 / 3 },
  sql: { first: 300, aim: 1 },
};
/** Operations that are under way at the same time: alone, and enough that threads seldom wait for each other. */
const BESIDE = [1, 16] as const;
const CONNECTIONS = 8;
const [WOKEN, LIVE] = [100, 1000];
const SLEEPING = Number(process.env['BENCH_SOCKETS'] ?? 10_000);
/** Objects that these sockets are of. */
const ROOMS = 100;
/** workerd lets an object sleep after ten seconds; ours is set to one. */
const ASLEEP_MS = 13_000;

interface Figure {
  readonly cpuUs: number;
  readonly p50Us: number;
}

const servers: Server[] = [];
for (const name of ['handler', 'miniflare'] as const) {
  const server = await startObjects(name);
  if (typeof server === 'string') process.stdout.write(`${name} is left out: ${server}\n`);
  else {
    servers.push(server);
    await ask(server, '/prepare');
  }
}
process.stdout.write(`handler: supervisor, one engine over node:http, database service, embedded Postgres 18
miniflare: its defaults with a persistence folder, objects with SQLite
Medians of ${rounds} rounds of about ${seconds} s, in turn; all operations on one object, ${CONNECTIONS} sockets of it.

`);
try {
  for (const [name, { first, aim }] of Object.entries(operations))
    for (const beside of BESIDE) {
      const counts = new Map<Server, number>();
      await compare(beside === 1 ? name : `${name}, ${beside} at a time`, aim, async (server) => {
        const count = counts.get(server) ?? first;
        const [before, began] = [cpuMs(server.pid), performance.now()];
        await ask(server, `/?op=${name}&n=${count}&beside=${beside}`);
        const wallUs = ((performance.now() - began) * 1000) / count;
        counts.set(server, Math.ceil(Math.min(100_000, (seconds * 1e6) / wallUs)));
        return { cpuUs: ((cpuMs(server.pid) - before) * 1000) / count, p50Us: wallUs * beside };
      });
    }
  await compare('echo', 1, async (server) => {
    const { cpuUs, p50Ms } = await loadSockets({ ...server, url: `${new URL(server.url).origin}/echo` }, CONNECTIONS);
    return { cpuUs, p50Us: p50Ms * 1000 };
  });
  await wake();
  await hold();
} finally {
  await Promise.all(servers.map((server) => server.stop()));
}

async function compare(name: string, aim: number, measure: (server: Server) => Promise<Figure>): Promise<void> {
  const readings = new Map(servers.map((server) => [server, [] as Figure[]]));
  for (let round = 0; round <= rounds; round++)
    for (const [server, of] of readings) {
      const figure = await measure(server);
      if (round > 0) of.push(figure);
    }
  const cpu = servers.map((server) => median(readings.get(server)!.map(({ cpuUs }) => cpuUs)));
  const rows = servers.map((server, at) => {
    const share = cpu[at]! / cpu.at(-1)!;
    const isOurs = at < servers.length - 1;
    const p50 = median(readings.get(server)!.map(({ p50Us }) => p50Us));
    return [server.name, cpu[at]!, p50, isOurs ? digits(share) : '', isOurs ? (share <= aim ? 'met' : 'missed') : ''];
  });
  const head = [name, 'CPU us', 'p50 us', 'of miniflare', `aim ${digits(aim)}`];
  process.stdout.write(`${formatTable(head, rows)}\n\n`);
}

function openAt(server: Server, path: string): Promise<Socket> {
  return openSocket({ ...server, url: `${new URL(server.url).origin}${path}` });
}

/** The first message to each of some objects that sleep. */
async function wake(): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const server of servers) {
    const sockets: Socket[] = [];
    for (let at = 0; at < WOKEN; at++) sockets.push(await openAt(server, `/wake-${at}`));
    await delay(ASLEEP_MS);
    const latencies: number[] = [];
    let woken = 0;
    const before = cpuMs(server.pid);
    for (const socket of sockets) {
      const began = performance.now();
      socket.write(Buffer.concat([Buffer.from('818400000000', 'hex'), Buffer.from('wake')]));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      latencies.push(performance.now() - began);
      if (answer.includes('new')) woken++;
    }
    const cpuUs = ((cpuMs(server.pid) - before) * 1000) / WOKEN;
    rows.push([server.name, cpuUs, percentile(latencies, 0.5) * 1000, percentile(latencies, 0.99) * 1000, woken]);
    for (const socket of sockets) socket.destroy();
  }
  process.stdout.write(`${formatTable([`wake of ${WOKEN}`, 'CPU us', 'p50 us', 'p99 us', 'were asleep'], rows)}\n\n`);
}

/** Resident memory of objects that live, and of sockets that sleep. */
async function hold(): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const server of servers) {
    const before = residentBytes(server.pid);
    await ask(server, `/live?n=${LIVE}`);
    const live = residentBytes(server.pid);
    const sockets: Socket[] = [];
    for (let at = 0; at < SLEEPING; at += 50)
      sockets.push(
        ...(await Promise.all(Array.from({ length: 50 }, (_, next) => openAt(server, `/room-${(at + next) % ROOMS}`)))),
      );
    await delay(ASLEEP_MS);
    const asleep = residentBytes(server.pid);
    rows.push([server.name, (live - before) / LIVE / 1024, (asleep - live) / SLEEPING / 1024]);
    for (const socket of sockets) socket.destroy();
  }
  const head = ['memory', `KB of each of ${LIVE} live objects`, `KB of each of ${SLEEPING} sleeping sockets`];
  process.stdout.write(`${formatTable(head, rows)}\n`);
}
