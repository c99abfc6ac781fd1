// `npm run bench arrivals`: a hundred cold deployments that get a request at the same moment. Measures how long the
// engine's main thread is blocked, and how long the requests take. The CPU of a turn is measured on Linux only.
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { settleMs } from './cold-starts.ts';
import { bundleWorker, names, publishCopies } from './deployments.ts';
import { cpuMs, rounds } from './load.ts';
import { startEngine } from './servers.ts';
import { digits, formatTable, median, percentile } from './statistics.ts';
import { tally, visit } from './visits.ts';

const ARRIVALS = 100;
const WARM_UPS = 20;
/** Of the main thread's CPU. */
const TURN_MS = 4;
const head = ['longest turn ms', 'its CPU ms', 'p50 ms', 'p99 ms', 'CPU ms each'];

process.stdout.write(`${ARRIVALS} cold deployments at once; medians of ${rounds} rounds, each in a fresh process\n`);
const rows: (string | number)[][] = [];
for (const name of ['hello', 'hono-zod']) {
  const bundle = await bundleWorker(name);
  const [warm, fresh] = [names('warm', WARM_UPS), names('fresh', ARRIVALS)];
  const folder = await publishCopies(bundle, ['first', ...warm, ...fresh]);
  const readings: number[][] = [];
  for (let round = 0; round < rounds; round++) {
    const server = await startEngine('ours', folder, 'node', 'first', '/');
    await delay(settleMs);
    // The first ones of a process compile our own code.
    await visit(server.url, warm, { everyMs: 20 });
    await delay(1000);
    await server.turns!();
    await server.turns!();
    const before = cpuMs(server.pid);
    const { times, failures } = await visit(server.url, fresh, { atATime: ARRIVALS });
    const { wallMs, cpuMs: turnCpuMs } = await server.turns!();
    if (failures.length > 0) throw new Error(tally(failures));
    readings.push([
      wallMs,
      turnCpuMs,
      percentile(times, 0.5),
      percentile(times, 0.99),
      (cpuMs(server.pid) - before) / ARRIVALS,
    ]);
    await server.stop();
  }
  rows.push([name, ...head.map((_, column) => median(readings.map((reading) => reading[column]!)))]);
  rmSync(folder, { recursive: true });
}
process.stdout.write(`${formatTable(['', ...head], rows)}\n`);
for (const [name, , turn] of rows as [string, number, number][])
  process.stdout.write(`  ${name}: CPU of the longest turn ${digits(turn)} ms (aim: at most ${TURN_MS})\n`);
