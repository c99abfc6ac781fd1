// How many deployments one engine holds: resident memory per idle worker at 1,000 live, hello and Hono + zod, beside
// workerd's Worker Loader; then 10,000 routable deployments visited at random with 1,000 live. `npm run bench density`;
// BENCH_LIVE and BENCH_DEPLOYMENTS make it smaller or larger, BENCH_WORKERS=hello leaves Hono out. Needs about 10 GB of
// memory.
import { rmSync } from 'node:fs';
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
const AT_ATIME = 4;
/** Between two looks at memory that may still fall, and how long it may take. */
const [lookMs, lookMsMax] = [5000, 60_000];
const aimMb: Readonly<Record<string, number>> = { hello: 1.5, 'hono-zod': 4 };
const workers = process.env['BENCH_WORKERS']?.split(',') ?? Object.keys(aimMb);

process.stdout.write(`about ${Math.round(live * 0.06 + deployments * 0.02)} s\n\n`);
const rows: (string | number)[][] = [];
for (const name of workers) rows.push(...(await idleMemory(await bundleWorker(name))));
process.stdout.write(`${formatTable([`${live} live, idle`, 'MB each', 'aim', 'MB in all'], rows)}\n\n`);
await randomVisits();

async function idleMemory(bundle: Bundle): Promise<(string | number)[][]> {
  const [warm, idle] = [names('warm', WARM_UPS), names('idle', live)];
  const folder = await publishCopies(bundle, ['first', ...warm, ...idle]);
  const settings = { WORKER_ISOLATES_MAX: String(live + 2 * WARM_UPS), ENGINE_MEMORY_MB: '65536' };
  const starts: Record<string, () => Promise<Server> | string> = {
    ours: () => startEngine('ours', folder, 'node', 'first', '/', settings),
    'workerd, Worker Loader': () => startWorkerLoader('workerd', bundle),
  };
  const found: (string | number)[][] = [];
  for (const [name, start] of Object.entries(starts)) {
    const server = await start();
    if (typeof server === 'string') {
      process.stdout.write(`${name} is left out: ${server}\n`);
      continue;
    }
    await visit(server.url, warm, { atATime: AT_ATIME });
    const before = await settledBytes(server.pid);
    const { failures } = await visit(server.url, idle, { atATime: AT_ATIME });
    if (failures.length > 0) throw new Error(`${name}: ${tally(failures)}`);
    const after = await settledBytes(server.pid);
    found.push([
      `${bundle.name}: ${name}`,
      (after - before) / live / 1e6,
      name === 'ours' ? aimMb[bundle.name]! : '',
      after / 1e6,
    ]);
    await server.stop();
  }
  rmSync(folder, { recursive: true });
  return found;
}

/** Resident memory once it falls no further: what is idle is trimmed one after the other. */
async function settledBytes(pid: number): Promise<number> {
  let bytes = Infinity;
  for (const began = performance.now(); performance.now() - began < lookMsMax;) {
    await delay(lookMs);
    const now = residentBytes(pid);
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
