// `platform dev` as a user meets it: the packed tarballs in a fresh folder, `platform init hono app`, `npm install`,
// then the time to the first answer and from each save to an answer with the new text. `npm run bench dev`. Aims: 500
// ms and 50 ms.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { pack } from '../cli/tasks/pack.ts';
import { root, runProgram } from '../cli/tasks/tools/processes.ts';
import { freePort } from '../test/setup/free-port.ts';
import { answered, endAsking, saveTimes } from './dev-server.ts';
import { temporaryFolder } from './endings.ts';
import { formatTable, median } from './statistics.ts';

const STARTS = 5;
const EDITS = 10;

const folder = temporaryFolder('platform-bench-dev-');
const app = path.join(folder, 'app');
try {
  await install();
  // The first start of all builds the guest's snapshot; a user meets it once.
  const first = await firstAnswerMs();
  const again: number[] = [];
  for (let i = 0; i < STARTS; i++) again.push(await firstAnswerMs());
  const saves = await saveMs();
  process.stdout.write(
    `\n${formatTable(
      ['platform dev, Hono app', 'ms', 'aim'],
      [
        ['first start of all, to the first answer', Math.round(first), ''],
        [`later start, to the first answer (median of ${STARTS})`, Math.round(median(again)), 500],
        [`save, to an answer with the new text (median of ${EDITS})`, Math.round(median(saves)), 50],
      ],
    )}\n`,
  );
} finally {
  endAsking();
  rmSync(folder, { recursive: true, force: true });
}

async function install(): Promise<void> {
  await pack(path.join(folder, 'dist'));
  await must(
    process.execPath,
    [path.join(root, 'cli/run.mjs'), 'init', 'hono', 'app', '--packages', path.join(folder, 'dist')],
    folder,
  );
  const ended = await must('npm', ['install'], app);
  process.stdout.write(`npm install: ${(ended.wallMs / 1000).toFixed(1)} s\n`);
}

async function must(program: string, words: readonly string[], cwd: string): ReturnType<typeof runProgram> {
  const ended = await runProgram(program, words, { cwd });
  if (ended.code !== 0) throw new Error(`${program} ${words.join(' ')} failed:\n${ended.output}`);
  return ended;
}

/** From the start of the process that the user starts. */
async function firstAnswerMs(): Promise<number> {
  const dev = await startDev();
  await dev.stop();
  return dev.firstMs;
}

async function saveMs(): Promise<number[]> {
  const dev = await startDev();
  try {
    return await saveTimes(dev.port, '/', path.join(app, 'src/index.ts'), 'Hello from', EDITS);
  } finally {
    await dev.stop();
  }
}

interface Dev {
  readonly port: number;
  readonly firstMs: number;
  stop(): Promise<void>;
}

async function startDev(): Promise<Dev> {
  const port = await freePort();
  const began = performance.now();
  const child = spawn(
    path.join(app, 'node_modules/.bin/platform'),
    ['dev', '--port', String(port), '--host', '127.0.0.1'],
    {
      cwd: app,
      env: { ...process.env, PLATFORM_CACHE_DIR: path.join(folder, 'cache') },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  await answered(port, '/', 'Hello from');
  const firstMs = performance.now() - began;
  return {
    port,
    firstMs,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
