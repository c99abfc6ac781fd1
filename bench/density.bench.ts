// `npm run bench density`: resident memory per idle worker with 1,000 live workers, soon after a request and a minute
// later, for hello and for Hono with zod, compared with workerd's Worker Loader; then random requests to 10,000
// deployments with 1,000 live workers. BENCH_LIVE and BENCH_DEPLOYMENTS (0: none) set the sizes, BENCH_ENGINES uses
// several engines, BENCH_WORKERS=hello omits Hono. Needs about 10 GB of memory.
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createSeededRandom } from '../test/setup/seeded-random.ts';
import { residentBytes } from './load.ts';
import { bundleWorker, names, publishCopies, startWorkerLoader, type Bundle } from './deployments.ts';
import { startEngine, type Server } from './servers.ts';
import { digits, formatTable, percentile } from './statistics.ts';
import { tally, visit } from './visits.ts';

const WARM_UPS = 20;
const live = Number(process.env['BENCH_LIVE'] ?? 1000);
const deployments = Number(process.env['BENCH_DEPLOYMENTS'] ?? 10 * live);
const visits = 2 * deployments;
const engines = Number(process.env['BENCH_ENGINES'] ?? 1);
const AT_ATIME = 4;
/** After which idle workers are trimmed once more: runtime/engine/isolates/pool.ts. */
const RESTING_MS = 62_000;
/** Between two looks at memory that may still fall, and how long it may take. */
const [lookMs, lookMsMax] = [5000, 60_000];
const aimMb: Readonly<Record<string, number>> = { hello: 1.5, 'hono-zod': 4 };
const holderNames = ['heaps', 'malloc', "engine's heap", "engine's buffers"];
const workers = process.env['BENCH_WORKERS']?.split(',') ?? Object.keys(aimMb);

process.stdout.write(`about ${Math.round(150 * workers.length + live * 0.06 + deployments * 0.02)} s\n\n`);
const rows: (string | number)[][] = [];
const holders: (string | number)[][] = [];
for (const name of workers) rows.push(...(await idleMemory(await bundleWorker(name))));
const title = `${live} live, idle${engines > 1 ? ` in ${engines} engines` : ''}`;
process.stdout.write(`${formatTable([title, 'MB each', 'after a minute', 'aim', 'MB in all'], rows)}\n\n`);
process.stdout.write(`${formatTable(['ours, KB each after a minute', ...holderNames, 'mappings'], holders)}\n\n`);
if (deployments > 0) await randomVisits();

async function idleMemory(bundle: Bundle): Promise<(string | number)[][]> {
  const [warm, idle] = [names('warm', WARM_UPS), names('idle', live)];
  const folder = await publishCopies(bundle, ['first', ...warm, ...idle]);
  const settings = { WORKER_ISOLATES_MAX: String(Math.ceil(live / engines) + 2 * WARM_UPS), ENGINE_MEMORY_MB: '65536' };
  const starts: Record<string, () => (Promise<Server> | string)[]> = {
    ours: () =>
      Array.from({ length: engines }, (_, at) => startEngine(`ours ${at}`, folder, 'node', 'first', '/', settings)),
    'workerd, Worker Loader': () => [startWorkerLoader('workerd', bundle)],
  };
  const found: (string | number)[][] = [];
  for (const [name, start] of Object.entries(starts)) {
    const isOurs = name === 'ours';
    const servers: Server[] = [];
    for (const starting of start()) {
      const server = await starting;
      if (typeof server === 'string') process.stdout.write(`${name} is left out: ${server}\n`);
      else servers.push(server);
    }
    if (servers.length === 0) continue;
    for (const server of servers) await visit(server.url, warm, { atATime: AT_ATIME });
    const before = await settledBytes(servers);
    const heldBefore = isOurs ? await heldBy(servers) : [];
    const visited = servers.map((server, at) => {
      const own = idle.filter((_, n) => n % servers.length === at);
      return visit(server.url, own, { atATime: AT_ATIME });
    });
    for (const { failures } of await Promise.all(visited))
      if (failures.length > 0) throw new Error(`${name}: ${tally(failures)}`);
    const soon = await settledBytes(servers);
    await delay(RESTING_MS);
    const after = await settledBytes(servers);
    const each = (bytes: number): number => (bytes - before) / live / 1e6;
    found.push([`${bundle.name}: ${name}`, each(soon), each(after), isOurs ? aimMb[bundle.name]! : '', after / 1e6]);
    if (isOurs) {
      const held = (await heldBy(servers)).map((amount, at) => (amount - heldBefore[at]!) / live);
      holders.push([bundle.name, ...held.map((amount, at) => (at < holderNames.length ? amount / 1000 : amount))]);
    }
    for (const server of servers) await server.stop();
  }
  rmSync(folder, { recursive: true });
  return found;
}

/** Bytes by holder, as `holderNames` has them, and the number of mappings. */
async function heldBy(servers: readonly Server[]): Promise<number[]> {
  const sums = [0, 0, 0, 0, 0];
  for (const server of servers) {
    const { isolates, heap, buffers } = await server.held!();
    const maps = readFileSync(`/proc/${server.pid}/smaps`, 'utf8');
    // Blocks of malloc; V8 maps its pages itself.
    const blocks = /\[heap\]\n(?:.*\n)*?Rss: +(\d+) kB/.exec(maps)?.[1] ?? 0;
    const mappings = maps.match(/^Rss:/gm)?.length ?? 0;
    for (const [at, amount] of [isolates, Number(blocks) * 1024, heap, buffers, mappings].entries())
      sums[at]! += amount;
  }
  return sums;
}

/** Resident memory once it falls no further: what is idle is trimmed one after the other. */
async function settledBytes(servers: readonly Server[]): Promise<number> {
  let bytes = Infinity;
  for (const began = performance.now(); performance.now() - began < lookMsMax;) {
    await delay(lookMs);
    const now = servers.reduce((sum, { pid }) => sum + residentBytes(pid), 0);
    if (now > bytes * 0.995) return now;
    bytes = now;
  }
  return bytes;
}

async function randomVisits(): Promise<void> {
  const projects = names('app', deployments);
  const folder = await publishCopies(await bundleWorker('hello'), projects);
  const engine = await startEngine('ours', folder, 'node', 'app0', '/', { WORKER_ISOLATES_MAX: String(live) });
  const random = createSeededRandom();
  const list = Array.from({ length: visits }, () => random.pick(projects));
  const began = performance.now();
  const { times, failures } = await visit(engine.url, list, { atATime: AT_ATIME });
  const tookS = (performance.now() - began) / 1000;
  const row = [
    digits(visits / tookS),
    tally(failures),
    percentile(times, 0.5),
    percentile(times, 0.99),
    Math.max(...times),
    residentBytes(engine.pid) / 1e6,
  ];
  const head = ['visits/s', 'errors', 'p50 ms', 'p99 ms', 'worst ms', 'MB in all'];
  process.stdout.write(`${visits} visits at random, ${AT_ATIME} at a time (FUZZ_SEED=${random.seed})\n`);
  process.stdout.write(`${formatTable(['routable / live', ...head], [[`${deployments} / ${live}`, ...row]])}\n`);
  await engine.stop();
  rmSync(folder, { recursive: true });
}
