// `npm run bench bindings`: the cost of an operation of each binding in a worker, compared with miniflare in the same
// run: latency, and CPU of all processes involved (engine, supervisor, broker, Postgres and database service; node and
// workerd of miniflare).
import { setTimeout as delay } from 'node:timers/promises';
import { startDevelopment, startGraphileWorker, startMiniflare, startProduction } from './bindings-platforms.ts';
import { cpuMs, rounds } from './load.ts';
import { ask, type Server } from './servers.ts';
import { digits, formatTable, median } from './statistics.ts';

const seconds = Number(process.env['BENCH_SECONDS'] ?? 1);
const picked = process.env['BENCH_OPERATIONS']?.split(',');
const peer = 'miniflare';
/** Its messages are on disk before a send returns, as ours are; those of miniflare lie in memory. */
const durablePeer = 'graphile-worker';
const ofDurablePeer = ['queue send', 'queue send and delivery'];

/** Operations of one request in the first round, and the share of miniflare's CPU that ours may take. */
const operations: Readonly<Record<string, { readonly first: number; readonly aim: number }>> = {
  'db select': { first: 200, aim: 1 / 5 },
  'db insert': { first: 200, aim: 1 / 5 },
  'db batch of ten': { first: 50, aim: 1 / 5 },
  'state get': { first: 200, aim: 1 / 5 },
  'state put': { first: 100, aim: 1 / 5 },
  'fs get 1 MB': { first: 50, aim: 1 / 3 },
  'fs put 1 MB': { first: 10, aim: 1 / 3 },
  'queue send': { first: 100, aim: 1 / 3 },
  'queue send and delivery': { first: 100, aim: 1 / 3 },
  'workflow of three steps': { first: 10, aim: 1 / 3 },
};

/** Requests at a time, each with one operation after the other. */
const lanes = [1, 8];

interface Reading {
  readonly cpuUs: number;
  readonly latencyUs: number;
}

const servers: Server[] = [];
for (const [name, start] of [
  ['handler', startProduction],
  ['platform dev', startDevelopment],
  [peer, startMiniflare],
  [durablePeer, startGraphileWorker],
] as const) {
  const server = await start(name);
  if (typeof server === 'string') process.stdout.write(`${name} is left out: ${server}\n`);
  else {
    servers.push(server);
    await ask(server, '/prepare');
  }
}
process.stdout
  .write(`handler: supervisor, one engine over node:http, broker; db: SQLite behind the database service (WAL, synchronous=NORMAL), fs: files on disk, all else: embedded Postgres 18, synchronous_commit=on
platform dev: db and state and queues and workflows: SQLite files (state, queues, workflows: synchronous=FULL), fs: files on disk
${peer}: its defaults with a persistence folder; queues lie in memory
${durablePeer}: embedded Postgres 18, synchronous_commit=on; its tasks run in its own process, without isolates
Medians of ${rounds} rounds of about ${seconds} s, in turn. CPU of all processes; latency of one operation while ${lanes.join(' or ')} go on at once.

`);
try {
  for (const [name, { first, aim }] of Object.entries(operations)) {
    if (picked !== undefined && !picked.some((part) => name.includes(part))) continue;
    for (const at of lanes) await compare(name, first, aim, at);
  }
} finally {
  await Promise.all(servers.map((server) => server.stop()));
}

async function compare(name: string, first: number, aim: number, at: number): Promise<void> {
  const measured = servers.filter((server) => server.name !== durablePeer || ofDurablePeer.includes(name));
  const readings = new Map<string, Reading[]>();
  const counts = new Map<string, number>();
  const failed = new Map<string, string>();
  for (let round = 0; round <= rounds; round++) {
    for (const server of measured) {
      if (failed.has(server.name)) continue;
      const count = counts.get(server.name) ?? first * at;
      try {
        const reading = await measure(server, name, count, at);
        // As many as fill a round: ticks of CPU time are 10 ms.
        counts.set(server.name, Math.ceil(Math.min(100_000, (seconds * 1e6 * at) / reading.latencyUs) / at) * at);
        if (round > 0) readings.set(server.name, [...(readings.get(server.name) ?? []), reading]);
      } catch (error) {
        failed.set(server.name, (error as Error).message);
      }
    }
  }
  const of = (server: string, key: keyof Reading): number =>
    median((readings.get(server) ?? []).map((reading) => reading[key]));
  const rows = measured.map(({ name: server }) => {
    const share = of(server, 'cpuUs') / of(peer, 'cpuUs');
    const verdict =
      [peer, durablePeer].includes(server) || !Number.isFinite(share) ? '' : share <= aim ? 'met' : 'missed';
    return [server, of(server, 'cpuUs'), of(server, 'latencyUs'), server === peer ? '' : digits(share), verdict];
  });
  const head = [`${name}, ${at} at once`, 'CPU us', 'latency us', `of ${peer}`, `aim ${digits(aim)}`];
  process.stdout.write(`${formatTable(head, rows)}\n`);
  if (readings.has(durablePeer))
    process.stdout.write(`  handler / ${durablePeer} = ${digits(of('handler', 'cpuUs') / of(durablePeer, 'cpuUs'))}\n`);
  for (const [server, reason] of failed) process.stdout.write(`  ${server} has no figure: ${reason.slice(0, 200)}\n`);
  process.stdout.write('\n');
}

async function measure(server: Server, name: string, count: number, at: number): Promise<Reading> {
  const isDelivered = name === 'queue send and delivery';
  const before = isDelivered ? Number(await ask(server, '/delivered')) : 0;
  const cpuBefore = cpuMs(server.pid);
  const startedAt = performance.now();
  const target = `/?op=${encodeURIComponent(name)}&n=${count / at}&all=${before + count}`;
  await Promise.all(Array.from({ length: at }, () => ask(server, target)));
  const latencyUs = ((performance.now() - startedAt) * 1000 * at) / count;
  const deadline = performance.now() + 30_000;
  while (isDelivered && Number(await ask(server, '/delivered')) < before + count) {
    if (performance.now() > deadline) throw new Error('not all messages were delivered within 30 s');
    await delay(20);
  }
  return { cpuUs: ((cpuMs(server.pid) - cpuBefore) * 1000) / count, latencyUs };
}
