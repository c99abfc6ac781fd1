// `npm run bench crowd`: many tenants at once, compared with workerd's Worker Loader: the first request of each, then
// Zipf-distributed requests (s = 1.1) on sixteen connections, the memory with all tenants live, and the memory after a
// restart, before the first request. One engine over node:http. BENCH_TENANTS (240) sets the number.
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from './cleanup.ts';
import { bundleCrowd, kindOf, kinds, shares, targetOf, tenantsOf, writeCrowdScript, type Crowd } from './crowd.ts';
import { publishCopies, startWorkerLoader } from './deployments.ts';
import { cpuMs, loadInTurn, missingWrk, plannedSeconds, residentBytes, rounds, runWrk, seconds } from './load.ts';
import { startEngine, type Server } from './servers.ts';
import { digits, formatTable, percentile } from './statistics.ts';
import { tally, visit } from './visits.ts';

const tenants = tenantsOf(Number(process.env['BENCH_TENANTS'] ?? 240));
const CONNECTIONS = 16;
/** New deployments are compiled ahead meanwhile; memory that is freed later is given back. */
const SETTLE_MS = Number(process.env['BENCH_SETTLE_MS'] ?? 15_000);
const KB_EACH_MAX = 50;
/** Before the rounds that count, for each tenant on average. */
const WARM_REQUESTS = 400;
const WARM_MS_MAX = 60_000;
/** A prime that no number of tenants should be a multiple of. */
const STRIDE = 7919;
/** At most this part of workerd's. */
const aims = { cpu: 0.6, cold: 0.5, memory: 0.8, p99: 0.1 };
const [OURS, PEER] = ['ours, node:http', 'workerd, Worker Loader'];

const missing = missingWrk();
if (missing === null) await measure();
else {
  process.stderr.write(`${missing}\n`);
  process.exitCode = 1;
}

interface Figures {
  /** Of the first requests. */
  readonly coldUs: number;
  readonly coldP50: number;
  readonly coldP99: number;
  readonly failures: readonly string[];
}

async function measure(): Promise<void> {
  const crowd = await bundleCrowd();
  const folder = await publishCopies((tenant) => crowd.ours[kindOf(tenant)], tenants);
  const mix = shares(tenants).map(([kind, share]) => `${kind} ${digits(share * 100)}%`);
  process.stdout.write(
    `${tenants.length} tenants, ${CONNECTIONS} connections, requests: ${mix.join(', ')}; about ${plannedSeconds(2, 11) + 100} s\n\n`,
  );
  const started = [await startOurs(folder), startWorkerLoader(PEER, crowd.workerd)];
  const all: Server[] = [];
  for (const one of await Promise.all(started)) {
    if (typeof one === 'string') process.stdout.write(`${PEER} is left out: ${one}\n`);
    else all.push(one);
  }
  await delay(SETTLE_MS);
  const cold = new Map<string, Figures>();
  for (const server of all) {
    const figures = await coldPass(server);
    cold.set(server.name, figures);
    process.stdout.write(`${server.name}: failed first requests: ${tally(figures.failures)}\n`);
  }
  // One that did not live through it is compared no further.
  const servers = all.filter(({ pid }) => existsSync(`/proc/${pid}`));
  for (const server of servers) await warmUp(server);
  const warm = await load(servers, tenants);
  const rows: (string | number)[][] = [];
  const figures: Record<string, Record<keyof typeof aims, number>> = {};
  for (const { name, pid } of servers) {
    await delay(SETTLE_MS);
    const { coldUs, coldP50, coldP99 } = cold.get(name)!;
    const { cpuUs, perSecond, p50Ms, p99Ms, bad, joined } = warm.get(name)!;
    const memory = residentBytes(pid) / 1e6;
    figures[name] = { cpu: cpuUs, cold: coldUs, memory, p99: p99Ms };
    rows.push([name, coldUs / 1000, coldP50, coldP99, cpuUs, joined, perSecond, p50Ms, p99Ms, memory]);
    process.stdout.write(`${name}: failed requests when warm: ${bad}\n`);
  }
  const head = [
    'cold CPU ms',
    'cold p50 ms',
    'p99 ms',
    'CPU us',
    'entered together',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'MB',
  ];
  process.stdout.write(`\n${formatTable([`medians of ${rounds} x ${seconds} s`, ...head], rows)}\n`);
  const [own, peer] = [figures[OURS]!, figures[PEER]];
  if (peer !== undefined) {
    const parts = (Object.keys(aims) as (keyof typeof aims)[]).map((key) => {
      const part = own[key] / peer[key];
      return `${key} ${digits(part)} (aim: at most ${aims[key]}${part > aims[key] ? ', missed' : ''})`;
    });
    process.stdout.write(`  ours / workerd: ${parts.join(', ')}\n`);
  }
  await byKind(servers);
  await Promise.all(servers.map((server) => server.stop()));
  await restarted(crowd, folder);
  rmSync(folder, { recursive: true });
}

/** The same load on the tenants of one kind, and on the most popular one of them. */
async function byKind(servers: readonly Server[]): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const kind of Object.keys(kinds)) {
    const all = tenants.filter((tenant) => kindOf(tenant) === kind);
    const [first, spread] = [await load(servers, [all[0]!]), await load(servers, all)];
    const cells = servers.flatMap(({ name }) => [first, spread].map((readings) => readings.get(name)!.cpuUs));
    rows.push([kind, ...cells, ...servers.map(({ name }) => spread.get(name)!.p99Ms)]);
  }
  const figures = servers.flatMap(({ name }) => [`${name}, one`, 'all of it']);
  process.stdout.write(`\n${formatTable(['CPU us by kind', ...figures, ...servers.map(() => 'p99 ms')], rows)}\n\n`);
}

function load(servers: readonly Server[], asked: readonly string[]): ReturnType<typeof loadInTurn> {
  const script = path.join(temporaryFolder('platform-bench-wrk-'), 'crowd.lua');
  writeCrowdScript(script, asked);
  return loadInTurn(servers, { connections: CONNECTIONS, script });
}

function startOurs(folder: string): Promise<Server> {
  return startEngine(OURS, folder, 'node', tenants[0]!, targetOf(tenants[0]!));
}

/** Until each isolate has optimized its code as far as its share of requests lets it. */
async function warmUp(server: Server): Promise<void> {
  const script = path.join(temporaryFolder('platform-bench-wrk-'), 'crowd.lua');
  writeCrowdScript(script, tenants);
  const began = performance.now();
  for (let sent = 0; sent < WARM_REQUESTS * tenants.length && performance.now() - began < WARM_MS_MAX;)
    sent += (await runWrk(server, { connections: CONNECTIONS, script })).perSecond * seconds;
}

/** The first request of each tenant, in no order of popularity, as many at a time as there are connections. */
async function coldPass(server: Server): Promise<Figures> {
  const order = tenants.map((_, at) => tenants[(at * STRIDE) % tenants.length]!).filter((_, at) => at > 0);
  const before = cpuMs(server.pid);
  const { times, failures } = await visit(server.url, order, { atATime: CONNECTIONS }, targetOf);
  return {
    coldUs: ((cpuMs(server.pid) - before) * 1000) / order.length,
    coldP50: percentile(times, 0.5),
    coldP99: percentile(times, 0.99),
    failures,
  };
}

/** What an engine holds that has started again, and one with a single tenant. */
async function restarted(crowd: Crowd, folder: string): Promise<void> {
  const alone = await publishCopies(crowd.ours.hello, [tenants[0]!]);
  const megabytes: number[] = [];
  for (const one of [alone, folder]) {
    const server = await startOurs(one);
    await delay(SETTLE_MS);
    megabytes.push(residentBytes(server.pid) / 1e6);
    await server.stop();
  }
  const [base, all] = megabytes as [number, number];
  const kilobytes = ((all - base) * 1000) / (tenants.length - 1);
  const aim = `aim: at most ${KB_EACH_MAX}${kilobytes > KB_EACH_MAX ? ', missed' : ''}`;
  process.stdout.write(
    `  restarted, no requests: ${digits(all)} MB, ${digits(base)} with one tenant: ${digits(kilobytes)} KB a sleeping deployment (${aim})\n`,
  );
  rmSync(alone, { recursive: true });
}
