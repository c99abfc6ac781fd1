// The first request to a deployment that nothing has touched: 200 of them, one every 20 ms, of a hello worker and of a
// Hono + zod bundle, in a fresh process each round; workerd's Worker Loader does the same beside us. `npm run bench
// cold-start`. Our engine compiles new deployments while it has nothing to start: it gets some seconds for that before
// the visits begin, as between a push and its first visitor; `BENCH_SETTLE_MS=0` leaves them out.
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { coldHead, coldStarts, settleMs } from './cold-starts.ts';
import { rounds } from './load.ts';
import { bundleWorker, names, publishCopies, startWorkerLoader, type Bundle } from './deployments.ts';
import { startEngine, uwsMissing, type Server } from './servers.ts';
import { digits, formatTable, median } from './statistics.ts';

const WARM_UPS = 20;
const FIRSTS = 200;
const EVERY_MS = 20;

/** What is aimed at, p50 and p99 in ms. */
const aims: Readonly<Record<string, readonly [number, number?]>> = { hello: [2.5, 6], 'hono-zod': [10] };

process.stdout.write(
  `first requests, ${FIRSTS} a round, one every ${EVERY_MS} ms; medians of ${rounds} rounds, in turn`,
);
process.stdout.write(`; about ${rounds * 2 * (3 * 8 + (2 * settleMs) / 1000)} s\n`);
for (const name of Object.keys(aims)) await measure(await bundleWorker(name));

async function measure(bundle: Bundle): Promise<void> {
  const projects = { first: ['first'], warm: names('warm', WARM_UPS), fresh: names('fresh', FIRSTS) };
  const folder = await publishCopies(bundle, Object.values(projects).flat());
  const starts: Record<string, (name: string) => Promise<Server> | string> = {
    'ours, node:http': (name) => startEngine(name, folder, 'node', 'first', '/'),
    'ours, uWebSockets.js': (name) => uwsMissing() ?? startEngine(name, folder, 'uws', 'first', '/'),
    'workerd, Worker Loader': (name) => startWorkerLoader(name, bundle),
  };
  const readings = new Map<string, number[][]>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, start] of Object.entries(starts)) {
      const server = await start(name);
      if (typeof server === 'string') {
        if (round === 0) process.stdout.write(`${name} is left out: ${server}\n`);
        continue;
      }
      if (name.startsWith('ours')) await delay(settleMs);
      readings.set(name, [...(readings.get(name) ?? []), await coldStarts(server, projects, EVERY_MS)]);
      await server.stop();
    }
  }
  rmSync(folder, { recursive: true });
  const rows = [...readings].map(([name, all]) => [
    name,
    ...coldHead.map((_, column) => median(all.map((reading) => reading[column]!))),
  ]);
  process.stdout.write(
    `\n${formatTable([`${bundle.name}, ${digits(bundle.code.length / 1000)} KB`, ...coldHead], rows)}\n`,
  );
  const peer = rows.find(([name]) => name === 'workerd, Worker Loader') as [string, number, number] | undefined;
  for (const [name, p50, p99] of rows as [string, number, number][]) {
    const [p50Aim, p99Aim] = aims[bundle.name]!;
    if (!name.startsWith('ours')) continue;
    process.stdout.write(`  ${name}: p50 ${digits(p50)} (aim: at most ${p50Aim}${p50 > p50Aim ? ', missed' : ''})`);
    if (p99Aim !== undefined)
      process.stdout.write(`, p99 ${digits(p99)} (aim: at most ${p99Aim}${p99 > p99Aim ? ', missed' : ''})`);
    if (peer !== undefined)
      process.stdout.write(`; of workerd's ${digits(p50 / peer[1])} and ${digits(p99 / peer[2])}`);
    process.stdout.write('\n');
  }
}
