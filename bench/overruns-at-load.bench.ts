// `npm run bench overruns-at-load`: how code that exceeds its limits or blocks ends while other programs use the CPUs,
// what it is charged, and whether another site of the same engine responds to a request every 100 ms. The row "nothing"
// is that site alone. OVERRUNS_LOADS=0,10,40 selects loads, OVERRUNS="loop;HTTP" rows. Fails if code ends in another
// way than expected, or the site is refused. Takes fifteen minutes, on Linux.
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { delivered, eventHandlers } from '../test/setup/events.ts';
import type { Probed } from '../test/setup/hostile-prober.ts';
import { startPlatform, type TestPlatform } from '../test/setup/platform.ts';
import { startBusyLoops } from './busy-loops.ts';
import { formatTable } from './statistics.ts';

const words = process.env['OVERRUNS']?.split(';') ?? [''];
const LOADS = (process.env['OVERRUNS_LOADS'] ?? '0,10,40').split(',').map(Number);
const WORK_SECONDS = 10;
const STOPPED_MS = 10_000;
const NOTHING_MS = 5000;
/** Longer than anything takes at the highest load: what ends here ends for another reason than time. */
const PATIENCE_MS = 900_000;

/** Within that a line is in the log. */
const LOG_MS = 10_000;

/** A function `f` of WebAssembly that waits for ever for a change of word 0 of the memory `a.m`. */
const waiter = 'AGFzbQEAAAABBQFgAAF/AgkBAWEBbQIDAQEDAgEABwUBAWYAAAoOAQwAQQBBAEJ//gECAAs=';
const loop = 'let x = 1; for (let i = 0; i < turns; i++) x = (x * 48271) % 2147483647; globalThis.x = x;';
const worker = `
const work = async (word) => { if (word === 'endless') for (;;); const turns = Number(word); ${loop} };
const paths = {
  '/endless': () => { for (;;); },
  '/built-in': () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1),
  '/atomics': () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  '/wait32': () => {
    const module = new WebAssembly.Module(Uint8Array.from(atob('${waiter}'), (c) => c.charCodeAt(0)));
    const m = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    return new WebAssembly.Instance(module, { a: { m } }).exports.f();
  },
};
export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/work') { const turns = Number(searchParams.get('turns')); ${loop} return new Response('done'); }
    return new Response(String(paths[pathname]?.() ?? 'alive'));
  },
  ${eventHandlers}
};`;

/** How it ended, and what it was charged where that is known. */
type Ending = readonly [code: string, chargedMs: number];

/** No path is asked for twice on one platform: its line in the log is the only one. */
async function request(platform: TestPlatform, path: string): Promise<Ending> {
  const [pathname] = path.split('?');
  const logged = platform.logged((line) => line['project'] === 'attacker' && line['path'] === pathname);
  const { status, headers, text } = await platform.fetch('attacker', path);
  const { cpuMs } = await Promise.race([logged, delay(LOG_MS, { cpuMs: Number.NaN })]);
  return [`${status} ${headers['x-platform-error'] ?? text}`, Number(cpuMs)];
}

async function event(platform: TestPlatform, kind: 'queue' | 'workflow', word: string): Promise<Ending> {
  const { outcome, cpuMs } = await delivered(platform, 'attacker', kind, word);
  return [outcome, cpuMs];
}

/** Turns of the loop above in a second of CPU, measured beside what else runs. */
function turnsOfSecond(): number {
  const turnsMeasured = 5e7;
  const before = process.threadCpuUsage();
  let x = 1;
  for (let i = 0; i < turnsMeasured; i++) x = (x * 48271) % 2147483647;
  const { user, system } = process.threadCpuUsage(before);
  // The sum is used, so that V8 does not leave the loop out.
  return Math.round((turnsMeasured * 1e6) / (user + system)) + (x & 1);
}

/** A request computes for half a second of CPU; meanwhile its engine is stopped. */
async function stopped(platform: TestPlatform, turns: number): Promise<Ending> {
  const { enginePid } = platform;
  const answered = request(platform, `/work?turns=${turns / 2}`);
  await delay(200);
  process.kill(enginePid, 'SIGSTOP');
  await delay(STOPPED_MS);
  process.kill(enginePid, 'SIGCONT');
  return answered;
}

/** @param turns of a second. */
type Run = (platform: TestPlatform, turns: number) => Promise<Ending>;

/** What runs, and how it must end. What loses a thread comes last. */
const rows: readonly (readonly [name: string, must: string, run: Run])[] = [
  ['nothing', '', async () => (await delay(NOTHING_MS), ['', Number.NaN])],
  ['endless loop, HTTP', '500 cpu_limit_exceeded', (platform) => request(platform, '/endless')],
  ['endless loop, queue consumer', 'cpu_limit_exceeded', (platform) => event(platform, 'queue', 'endless')],
  [
    `workflow of ${WORK_SECONDS} s of CPU, 15 allowed`,
    'ok',
    (platform, turns) => event(platform, 'workflow', String(turns * WORK_SECONDS)),
  ],
  ['Atomics.wait', '200 timed-out', (platform) => request(platform, '/atomics')],
  [`engine stopped for ${STOPPED_MS / 1000} s meanwhile`, '200 done', stopped],
  ['WebAssembly that waits for ever', '503 isolate_replaced', (platform) => request(platform, '/wait32')],
  ['built-in without end', '503 isolate_replaced', (platform) => request(platform, '/built-in')],
];

async function runAt(load: number): Promise<(string | number)[][]> {
  const platform = await startPlatform(
    { attacker: worker, victim: `export default { fetch: () => new Response('unhurt') };` },
    {
      WORKER_CPU_LIMIT_MS_QUEUE_FREE: '1000',
      WORKER_WALL_LIMIT_MS: String(PATIENCE_MS),
      HANDLER_SPARES: '0',
      // The lines of requests that were answered have their CPU.
      LOG_LEVEL: 'debug',
    },
  );
  const endLoad = startBusyLoops(load);
  const turns = turnsOfSecond();
  const found: (string | number)[][] = [];
  try {
    for (const [name, must, run] of rows) {
      if (!words.some((word) => name.includes(word))) continue;
      await platform.answers('victim', 'unhurt');
      await platform.answers('attacker', 'alive');
      const prober = new Worker(join(import.meta.dirname, '../test/setup/hostile-prober.ts'), {
        workerData: { port: platform.port, host: 'victim.localhost', everyMs: 100, patienceMs: PATIENCE_MS },
      });
      await once(prober, 'message');
      const began = performance.now();
      const [code, chargedMs] = await run(platform, turns);
      const wallMs = performance.now() - began;
      prober.postMessage('stop');
      const [{ requests, failures, longestMs, lastFailure }] = (await once(prober, 'message')) as [Probed];
      // For a moment it is refused, once the supervisor knows.
      if (code.endsWith('isolate_replaced')) await platform.logged(({ msg }) => msg === 'Deployment quarantined');
      const isRight = code === must && failures === 0;
      if (!isRight) process.exitCode = 1;
      const neighbour = `${requests - failures} of ${requests}`;
      const row = [load, name, `${code}${code === must ? '' : ` (not ${must})`}`, wallMs / 1000, chargedMs, neighbour];
      found.push([...row, Math.round(longestMs)]);
      process.stderr.write(`${found.at(-1)!.join('  ')}  ${lastFailure}\n`);
    }
  } finally {
    endLoad();
    await platform.close();
  }
  return found;
}

const all: (string | number)[][] = [];
for (const load of LOADS) all.push(...(await runAt(load)));
const head = ['load', 'what runs', 'ended as', 'after s', 'charged ms', 'neighbour answered', 'it waited ms at most'];
process.stdout.write(`${formatTable(head, all)}\n`);
process.exit();
