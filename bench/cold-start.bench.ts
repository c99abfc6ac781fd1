// `npm run bench cold-start`: the first requests to 200 unused deployments, one every 20 ms, of a hello worker and of a
// bundle with Hono and zod, compared with workerd's Worker Loader. Each round has a new process. Before the requests,
// the engine gets some seconds to compile deployments, as between a push and its first visitor: BENCH_SETTLE_MS=0 skips
// this, BENCH_EVERY_MS sets the interval of requests.
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { coldHead, coldStarts, settleMs } from './cold-starts.ts';
import { rounds } from './load.ts';
import { bundleWorker, names, publishCopies, startWorkerLoader, type Bundle } from './deployments.ts';
import { startEngine, uwsMissing, type Server } from './servers.ts';
import { digits, formatTable, median, percentile } from './statistics.ts';
import { tally, visit } from './visits.ts';

const WARM_UPS = 20;
const FIRSTS = 200;
/** Live isolates where deployments come back: each visit finds that others took its place. */
const LIVE = 20;
const EVERY_MS = Number(process.env['BENCH_EVERY_MS'] ?? 20);

/** What is aimed at: p50 in parts of workerd's, p99 in parts of one's own p50, and p50 in ms of one that comes back. */
const P50_OF_WORKERD: Readonly<Record<string, number>> = { hello: 0.35, 'hono-zod': 0.4 };
const P99_OF_P50 = 3;
const BACK_MS = 1.5;

process.stdout.write(
  `first requests, ${FIRSTS} a round, one every ${EVERY_MS} ms; medians of ${rounds} rounds, in turn`,
);
process.stdout.write(`; about ${rounds * 2 * (3 * 8 + (2 * settleMs) / 1000) + 2 * (16 + settleMs / 1000)} s\n`);
for (const name of Object.keys(P50_OF_WORKERD)) await measure(await bundleWorker(name));

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
  const rows = [...readings].map(([name, all]) => [
    name,
    ...coldHead.map((_, column) => median(all.map((reading) => reading[column]!))),
  ]);
  process.stdout.write(
    `\n${formatTable([`${bundle.name}, ${digits(bundle.code.length / 1000)} KB`, ...coldHead], rows)}\n`,
  );
  const peer = rows.find(([name]) => name === 'workerd, Worker Loader') as [string, number] | undefined;
  for (const [name, p50, p99] of rows as [string, number, number][]) {
    if (!name.startsWith('ours')) continue;
    const ofWorkerd =
      peer === undefined ? '' : `${against(p50 / peer[1], P50_OF_WORKERD[bundle.name]!)} of workerd's p50, `;
    process.stdout.write(`  ${name}: ${ofWorkerd}p99 ${against(p99 / p50, P99_OF_P50)} times its p50\n`);
  }
  const back = await comingBack(folder, projects);
  process.stdout.write(
    `  ours, node:http: one that was live before comes back with p50 ${against(back[0]!, BACK_MS)} ms, p99 ${digits(back[1]!)} ms\n`,
  );
  rmSync(folder, { recursive: true });
}

/** p50 and p99 in ms of second visits to deployments whose isolates went to others in between. */
async function comingBack(
  folder: string,
  { warm, fresh }: Readonly<Record<'warm' | 'fresh', readonly string[]>>,
): Promise<number[]> {
  const server = await startEngine('back', folder, 'node', 'first', '/', { WORKER_ISOLATES_MAX: String(LIVE) });
  await delay(settleMs);
  for (const visited of [warm, fresh]) await visit(server.url, visited, { everyMs: EVERY_MS });
  const { times, failures } = await visit(server.url, fresh, { everyMs: EVERY_MS });
  await server.stop();
  if (failures.length > 0) throw new Error(`${server.name}: ${tally(failures)}`);
  return [percentile(times, 0.5), percentile(times, 0.99)];
}

function against(figure: number, aim: number): string {
  return `${digits(figure)} (aim: at most ${aim}${figure > aim ? ', missed' : ''})`;
}
