// `npm run bench dev`: `platform dev` with a small project: time and CPU of all threads from start to first response,
// and from save to the response with the new text; proportional memory when idle. BENCH_ROUNDS sets the starts,
// BENCH_EDITS the saves. BENCH_PROGRAMS=checkout,modules,bundles compares the checkout and the packed program, without
// and with bundles. Linux only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeFlags } from '../core/node-flags.mjs';
import { freePort } from '../test/setup/free-port.ts';
import { temporaryFolder } from './cleanup.ts';
import { answered, endAsking, saveTimes } from './dev-server.ts';
import { pssOf } from './idle-platform.ts';
import { cpuMs } from './load.ts';
import { programOf } from './packed-programs.ts';
import { digits, formatTable, median } from './statistics.ts';

const STARTS = Number(process.env['BENCH_ROUNDS'] ?? 7);
const EDITS = Number(process.env['BENCH_EDITS'] ?? 10);
const PROGRAMS = (process.env['BENCH_PROGRAMS'] ?? 'checkout').split(',');
const [START_MS_MAX, SAVE_MS_MAX] = [500, 60];
/** When Node's compile cache is written (cli/run.mjs), with room for a busy machine. */
const KEPT_MS = 8000;
/** Until memory is read. */
const IDLE_MS = 3000;
const WORDS = 'version one';

const folder = temporaryFolder('platform-bench-dev-');
const file = path.join(folder, 'src/index.ts');
mkdirSync(path.dirname(file));
writeFileSync(path.join(folder, 'platform.yaml'), 'kind: worker\n');
writeFileSync(file, `export default { fetch: () => new Response('${WORDS}') };\n`);

interface Dev {
  readonly port: number;
  readonly firstMs: number;
  cpuMs(): number;
  megabytes(): number;
  stop(): Promise<void>;
}

const programs = new Map<string, string>();
for (const name of PROGRAMS) programs.set(name, await programOf(name));
// The first start makes what later ones find: compiled code, the guest's snapshot.
const firsts: string[] = [];
for (const [name, program] of programs) {
  const first = await startDev(program);
  firsts.push(`${name} ${digits(first.firstMs)} ms`);
  await delay(KEPT_MS);
  await first.stop();
}
const starts: { program: string; ms: number; cpuMs: number; megabytes: number }[] = [];
for (let round = 0; round < STARTS; round++)
  for (const program of programs.values()) {
    const dev = await startDev(program);
    const used = dev.cpuMs();
    await delay(IDLE_MS);
    starts.push({ program, ms: dev.firstMs, cpuMs: used, megabytes: dev.megabytes() });
    await dev.stop();
  }
const [edited] = programs.values();
const dev = await startDev(edited!);
const before = dev.cpuMs();
const saves = await saveTimes(dev.port, '/', file, WORDS, EDITS);
const saveCpuMs = (dev.cpuMs() - before) / EDITS;
await dev.stop();
endAsking();

const row = (what: string, readings: readonly number[], cpuMs: number, megabytes: number | string, most: number) => {
  const ms = median(readings);
  const aim = `${most}${ms > most ? ', missed' : ''}`;
  return [what, ms, Math.min(...readings), Math.max(...readings), cpuMs, megabytes, aim];
};
const startRows = [...programs].map(([name, program]) => {
  const own = starts.filter((start) => start.program === program);
  const of = (key: 'ms' | 'cpuMs' | 'megabytes'): number[] => own.map((start) => start[key]);
  const what = `start of ${name}, to the first answer (of ${STARTS})`;
  return row(what, of('ms'), median(of('cpuMs')), median(of('megabytes')), START_MS_MAX);
});
process.stdout.write(
  `${formatTable(
    ['platform dev, ms', 'median', 'least', 'most', 'CPU ms', 'PSS MB', 'aim'],
    [...startRows, row(`save, to an answer with the new text (of ${EDITS})`, saves, saveCpuMs, '', SAVE_MS_MAX)],
  )}\n  first start, with nothing compiled: ${firsts.join(', ')}\n`,
);

async function startDev(program: string): Promise<Dev> {
  const port = await freePort();
  const words = [
    ...nodeFlags,
    path.join(program, 'cli/run.mjs'),
    'dev',
    '--port',
    String(port),
    '--dashboard-port',
    '0',
  ];
  const began = performance.now();
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: { ...process.env, PLATFORM_CACHE_DIR: path.join(folder, '.cache') },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await answered(port, '/', WORDS);
  const firstMs = performance.now() - began;
  return {
    port,
    firstMs,
    cpuMs: () => cpuMs(child.pid!),
    megabytes: () => pssOf(child.pid!),
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
