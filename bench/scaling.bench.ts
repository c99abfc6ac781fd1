// `npm run bench scaling`: the cost of a second engine per request, and of a request that one engine forwards to
// another, in CPU of all processes. First with the real supervisor, and each engine on its own core if taskset is
// installed; then only the two ends of forwarding, because only some requests of the first table are forwarded.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeFlags } from '../core/node-flags.mjs';
import { startPlatform, type TestPlatform } from '../test/setup/platform.ts';
import { loadInTurn, missingWrk, rounds, runWrk, seconds, type Reading, type Target } from './load.ts';
import { startServer, type Server } from './servers.ts';
import { digits, formatTable, median } from './statistics.ts';

const CONNECTIONS = 64;
const code = readFileSync(join(import.meta.dirname, 'workers/hello.js'), 'utf8');
const variants: readonly [name: string, environment: Record<string, string>][] = [
  ['1 engine', { HANDLER_PROCESSES: '1' }],
  ['2 engines', { HANDLER_PROCESSES: '2' }],
  ['2 engines, all that is not at home forwarded', { HANDLER_PROCESSES: '2', HANDLER_FORWARDS_MAX: '1000000000' }],
];

interface Running extends Target {
  readonly platform: TestPlatform;
  forwarded: number;
  readonly shares: number[];
}

let pinned = false;

async function start(name: string, environment: Record<string, string>): Promise<Running> {
  const platform = await startPlatform({ hello: code }, { ...environment, HANDLER_SPARES: '0' });
  await platform.answers('hello', 'Hello World');
  for (const [index, { pid }] of (await platform.state()).engines.entries()) {
    const done = spawnSync('taskset', ['-acp', String(index % availableParallelism()), String(pid)]);
    pinned = done.status === 0;
  }
  const url = `http://127.0.0.1:${platform.port}/`;
  return { name, pid: platform.supervisorPid, url, host: 'hello.localhost', platform, forwarded: 0, shares: [] };
}

/** One round; the share of requests that were forwarded in it goes to `shares`. */
async function measure(target: Running): Promise<Reading> {
  const reading = await runWrk(target, { connections: CONNECTIONS });
  // Engines report once a second.
  await delay(1200);
  const { engines } = await target.platform.state();
  const forwarded = engines.reduce((sum, engine) => sum + engine.forwarded, 0);
  target.shares.push((forwarded - target.forwarded) / (reading.perSecond * seconds));
  target.forwarded = forwarded;
  return reading;
}

const missing = missingWrk();
if (missing !== null) {
  process.stderr.write(`${missing}\n`);
  process.exit(1);
}
process.stdout.write(
  `CPU time of supervisor and engines per request at ${CONNECTIONS} connections; medians of ${rounds} rounds of ${seconds} s, in turn\n`,
);
const running = await Promise.all(variants.map(([name, environment]) => start(name, environment)));
process.stdout.write(`${pinned ? 'each engine is pinned to a core' : 'engines are not pinned: there is no taskset'}\n`);
const readings = await loadInTurn(running, measure);
await Promise.all(running.map(({ platform }) => platform.close()));

const rows = running.map(({ name, shares }) => {
  const { cpuUs, perSecond, p99Ms, bad } = readings.get(name)!;
  return [name, cpuUs, perSecond, p99Ms, bad, `${(median(shares) * 100).toFixed(0)} %`];
});
const [one, two, detour] = running.map(({ name }) => readings.get(name)!.cpuUs) as [number, number, number];
const share = median(running[2]!.shares);
process.stdout.write(
  `\n${formatTable(['', 'CPU us', 'requests/s', 'p99 ms', 'non-2xx', 'forwarded'], rows)}\n` +
    `  2 engines / 1 engine = ${digits(two / one)} (aim: at most 1.15${two / one > 1.15 ? ', missed' : ''})\n` +
    `  a forwarded request costs ${digits((detour - two) / share)} us more\n`,
);

const ends: Server[] = [];
for (const mode of ['direct', 'forwarded']) {
  const file = join(import.meta.dirname, 'peers/forwarding.ts');
  ends.push(
    await startServer(mode, 'hello.localhost', '/', (port) => ({
      words: [process.execPath, ...nodeFlags, file, mode, String(port)],
    })),
  );
}
for (const count of [64, 8]) {
  const alone = await loadInTurn(ends, count);
  const table = [...alone].map(([name, { cpuUs, perSecond, p50Ms, p99Ms, bad }]) => [
    name,
    cpuUs,
    perSecond,
    p50Ms,
    p99Ms,
    bad,
  ]);
  const [direct, forwarded] = ends.map(({ name }) => alone.get(name)!.cpuUs) as [number, number];
  process.stdout.write(
    `\n${formatTable([`${count} connections`, 'CPU us', 'requests/s', 'p50 ms', 'p99 ms', 'non-2xx'], table)}\n` +
      `  forwarding costs ${digits(forwarded - direct)} us a request\n`,
  );
}
await Promise.all(ends.map((server) => server.stop()));
