// `npm run bench web-api`: the Web APIs inside an isolate compared with Node's: the same loops
// (workers/web-api-loops.ts) in a worker on the real engine and in a Node process. BENCH_LOOPS selects loops by a part
// of their name.
import { rmSync } from 'node:fs';
import { rounds } from './load.ts';
import { ask, cpuLimitOff, publishWorkers, startEngine, startPeer, type Server } from './servers.ts';
import { formatTable, median } from './statistics.ts';
import { loops } from './workers/web-api-loops.ts';

/** How long one measurement takes at least. */
const LOOP_MS = 40;
/** The aim: on the request path at least Node's speed, nowhere below a third of it. */
const timesMax = { path: 1, other: 3 };

const wanted = process.env['BENCH_LOOPS']?.split(',') ?? [''];
const folder = await publishWorkers('web-api', ['web-api']);
const servers: Server[] = [];
try {
  servers.push(await startEngine('ours', folder, 'node', 'web-api', '/?loop=0', cpuLimitOff));
  servers.push(await startPeer('Node', process.execPath, ['web-api.mjs'], 'web-api', '/?loop=0'));
  const [ours, node] = servers as [Server, Server];
  process.stdout.write(
    `ns per operation; medians of ${rounds} rounds of ${LOOP_MS} ms, in turn; * = on the request path\n\n`,
  );
  const rows: (string | number)[][] = [];
  const missed: string[] = [];
  for (const [index, { name, path }] of loops.entries()) {
    if (!wanted.some((part) => name.includes(part))) continue;
    const [our, their] = [await loop(ours, `loop=${index}`), await loop(node, `loop=${index}`)];
    if (our.sum !== their.sum)
      throw new Error(`${name}: the loops differ in what they compute, ${our.sum} here and ${their.sum} in Node`);
    const [ourNs, nodeNs] = await inTurn(ours, node, index);
    const times = ourNs / nodeNs;
    rows.push([`${path ? '*' : ' '} ${name}`, ourNs, nodeNs, times]);
    // A twentieth for what two runs of the same thing differ by.
    if (times > (path ? timesMax.path : timesMax.other) * 1.05) missed.push(`${name} ${times.toFixed(2)}`);
  }
  process.stdout.write(`${formatTable(['  operation', 'ours ns', 'Node ns', 'ours / Node'], rows)}\n\n`);
  process.stdout.write(
    `aim: * at most ${timesMax.path}, the others at most ${timesMax.other}; missed: ${missed.join(', ') || 'none'}\n`,
  );
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(folder, { recursive: true, force: true });
}

/** Median ns of both; the first two rounds only warm them up. */
async function inTurn(ours: Server, node: Server, index: number): Promise<[number, number]> {
  const readings: [number[], number[]] = [[], []];
  for (let round = -2; round < rounds; round++) {
    for (const [at, server] of [ours, node].entries()) {
      const { ns } = await loop(server, `loop=${index}&ms=${LOOP_MS}`);
      if (round >= 0) readings[at]!.push(ns);
    }
  }
  return [median(readings[0]), median(readings[1])];
}

/** One answer of the loops' `answer`. */
async function loop(server: Server, query: string): Promise<{ readonly ns: number; readonly sum: number }> {
  return JSON.parse(await ask(server, `/?${query}`));
}
