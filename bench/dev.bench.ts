// `npm run bench dev`: `platform dev` of a small project, from the start of the process to the first answer, and from a
// save to an answer with the new text. CPU is that of all its threads. BENCH_ROUNDS starts, BENCH_EDITS saves.
// Linux only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeFlags } from '../core/node-flags.mjs';
import { freePort } from '../test/setup/free-port.ts';
import { temporaryFolder } from './cleanup.ts';
import { answered, endAsking, saveTimes } from './dev-server.ts';
import { cpuMs } from './load.ts';
import { digits, formatTable, median } from './statistics.ts';

const STARTS = Number(process.env['BENCH_ROUNDS'] ?? 7);
const EDITS = Number(process.env['BENCH_EDITS'] ?? 10);
const [START_MS_MAX, SAVE_MS_MAX] = [500, 60];
/** When Node's compile cache is written (cli/run.mjs), with room for a busy machine. */
const KEPT_MS = 8000;
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
  stop(): Promise<void>;
}

// The first start makes what later ones find: compiled code, the guest's snapshot.
const first = await startDev();
await delay(KEPT_MS);
await first.stop();
const starts: { ms: number; cpuMs: number }[] = [];
for (let round = 0; round < STARTS; round++) {
  const dev = await startDev();
  starts.push({ ms: dev.firstMs, cpuMs: dev.cpuMs() });
  await dev.stop();
}
const dev = await startDev();
const before = dev.cpuMs();
const saves = await saveTimes(dev.port, '/', file, WORDS, EDITS);
const saveCpuMs = (dev.cpuMs() - before) / EDITS;
await dev.stop();
endAsking();

const row = (what: string, readings: readonly number[], cpuMs: number, most: number): (string | number)[] => {
  const ms = median(readings);
  return [what, ms, Math.min(...readings), Math.max(...readings), cpuMs, `${most}${ms > most ? ', missed' : ''}`];
};
const startMs = starts.map(({ ms }) => ms);
process.stdout.write(
  `${formatTable(
    ['platform dev, ms', 'median', 'least', 'most', 'CPU ms', 'aim'],
    [
      row(`start, to the first answer (of ${STARTS})`, startMs, median(starts.map(({ cpuMs }) => cpuMs)), START_MS_MAX),
      row(`save, to an answer with the new text (of ${EDITS})`, saves, saveCpuMs, SAVE_MS_MAX),
    ],
  )}\n  first start, with nothing compiled: ${digits(first.firstMs)} ms\n`,
);

async function startDev(): Promise<Dev> {
  const port = await freePort();
  const program = path.join(import.meta.dirname, '../cli/run.mjs');
  const words = [...nodeFlags, program, 'dev', '--port', String(port), '--dashboard-port', '0'];
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
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
