// Vite's dev server with a worker behind it: our plugin beside the one of Cloudflare, in turn, over the same app. The
// time from the start of the process to the first answer of the worker, and from a save to an answer with the new text.
// `npm run bench vite`. Aims: half of theirs for the start, 1.2 of theirs for a save.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pack } from '../cli/tasks/pack.ts';
import { runProgram } from '../cli/tasks/processes.ts';
import { makeProject } from '../test/frameworks/project.ts';
import { rows } from '../test/frameworks/rows.ts';
import { freePort } from '../test/setup/free-port.ts';
import { atEnd, temporaryFolder } from './endings.ts';
import { digits, formatTable, median } from './statistics.ts';

const STARTS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const EDITS = 12;
const POLL_MS = 1;
const PAUSE_MS = 400;
const WAIT_MS_MAX = 30_000;
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
const agent = new Agent({ keepAlive: true });
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
agent.destroy();

async function saveMs(name: Name, count: number): Promise<number[]> {
  const dev = await startDev(name);
  const source = path.join(folder, row.edits);
  const original = readFileSync(source, 'utf8');
  const times: number[] = [];
  try {
    for (let at = 0; at < count; at++) {
      await delay(PAUSE_MS);
      const began = performance.now();
      writeFileSync(source, original.replace('version one', `version ${at + 2}`));
      await answered(dev.port, `version ${at + 2}`);
      times.push(performance.now() - began);
    }
  } finally {
    writeFileSync(source, original);
    await dev.stop();
  }
  return times;
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
  const forget = atEnd(end);
  const exited = once(child, 'exit');
  await answered(port, 'version one');
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

/** Asks again and again until the page has the words. @throws {Error} after 30 s. */
async function answered(port: number, words: string): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX;
  while (performance.now() < deadline) {
    if ((await get(port)).includes(words)) return;
    await delay(POLL_MS);
  }
  throw new Error(`The dev server does not answer with ${words}`);
}

/** Text of a 200 answer, else ''. */
function get(port: number): Promise<string> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path: '/hello?name=Ada', agent }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(response.statusCode === 200 ? text : ''));
      response.on('error', () => resolve(''));
    });
    sent.on('error', () => resolve(''));
    sent.end();
  });
}
