// `npm run bench vite`: Vite's dev server with a worker, with our plugin and with Cloudflare's, alternately over the
// same app: the time from start to the worker's first response, and from save to the response with the new text.
// Targets: half of the time of Cloudflare's plugin for the start, 1.2 times its time for a save.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pack } from '../cli/tasks/pack.ts';
import { runProgram } from '../cli/tasks/tools/processes.ts';
import { makeProject } from '../test/frameworks/project.ts';
import { rows } from '../test/frameworks/rows.ts';
import { freePort } from '../test/setup/free-port.ts';
import { answered, endAsking, saveTimes } from './dev-server.ts';
import { atExit, temporaryFolder } from './cleanup.ts';
import { digits, formatTable, median } from './statistics.ts';

const STARTS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const EDITS = 12;
const PAGE = '/hello?name=Ada';
/** Of one day; with the workerd that it brings. */
const PEER = ['@cloudflare/vite-plugin@1.64.0', 'wrangler@4.151.0'];

const config = (from: string, call: string): string =>
  `${from}\nimport react from '@vitejs/plugin-react';\nimport { defineConfig } from 'vite';\n\nexport default defineConfig({ plugins: [react(), ${call}] });\n`;
const plugins = {
  platform: config(`import { platform } from '@platform-run/vite';`, '...platform()'),
  cloudflare: config(`import { cloudflare } from '@cloudflare/vite-plugin';`, 'cloudflare({ inspectorPort: false })'),
} as const;
type Name = keyof typeof plugins;
const names = Object.keys(plugins) as Name[];

const temporary = temporaryFolder('platform-bench-vite-');
const folder = path.join(temporary, 'app');
const row = rows.find(({ app }) => app === 'vite-worker')!;
const environment = {
  ...process.env,
  PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}`,
  PLATFORM_CACHE_DIR: path.join(temporary, 'cache'),
  // Theirs asks an address of Cloudflare at each start otherwise.
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
};
await makeProject({ ...row, packages: [] }, folder, environment);
const packed = await pack(path.join(temporary, 'dist'));
const ours = packed.filter((file) => /-(?:cli|create|vite)-[\d.]+\.tgz$/.test(file));
const installed = await runProgram(
  'npm',
  ['install', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', ...PEER, ...ours],
  { cwd: folder, env: environment },
);
if (installed.code !== 0) throw new Error(`npm install failed:\n${installed.output}`);
writeFileSync(
  path.join(folder, 'wrangler.json'),
  JSON.stringify({ name: 'app', main: row.edits, compatibility_date: '2026-07-01' }),
);

// The first start of each makes what later ones find: optimized packages, the guest's snapshot.
for (const name of names) await (await startDev(name)).stop();
const starts: Record<Name, number[]> = { platform: [], cloudflare: [] };
for (let round = 0; round < STARTS; round++)
  for (const name of names) {
    const dev = await startDev(name);
    starts[name].push(dev.firstMs);
    await dev.stop();
  }
const saves: Record<Name, number[]> = { platform: [], cloudflare: [] };
// One after the other: each watches the same files.
for (let half = 0; half < 2; half++) for (const name of names) saves[name].push(...(await saveMs(name, EDITS / 2)));
const line = (what: string, readings: Record<Name, number[]>, aim: number): (string | number)[] => {
  const [ours, theirs] = [median(readings.platform), median(readings.cloudflare)];
  return [what, ours, theirs, digits(ours / theirs), aim];
};
process.stdout.write(
  `\n${formatTable(
    ['Vite with a worker, ms', '@platform-run/vite', '@cloudflare/vite-plugin', 'ratio', 'aim'],
    [
      line(`start, to the first answer (median of ${STARTS})`, starts, 0.5),
      line(`save, to an answer with the new text (median of ${EDITS})`, saves, 1.2),
    ],
  )}\n`,
);
endAsking();

async function saveMs(name: Name, count: number): Promise<number[]> {
  const dev = await startDev(name);
  try {
    return await saveTimes(dev.port, PAGE, path.join(folder, row.edits), 'version one', count);
  } finally {
    await dev.stop();
  }
}

interface Dev {
  readonly port: number;
  /** From the start of the process to the first answer. */
  readonly firstMs: number;
  stop(): Promise<void>;
}

async function startDev(name: Name): Promise<Dev> {
  writeFileSync(path.join(folder, 'vite.config.js'), plugins[name]);
  const port = await freePort();
  const words = ['node_modules/vite/bin/vite.js', '--port', String(port), '--strictPort', '--host', '127.0.0.1'];
  const began = performance.now();
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  const end = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // It is gone.
    }
  };
  const forget = atExit(end);
  const exited = once(child, 'exit');
  await answered(port, PAGE, 'version one');
  return {
    port,
    firstMs: performance.now() - began,
    async stop() {
      child.kill('SIGTERM');
      await Promise.race([exited, delay(5000)]);
      end();
      forget();
    },
  };
}
