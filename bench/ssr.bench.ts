// `npm run bench ssr`: Node servers (kind ssr) on one handler: the first response of 20 apps that do not run yet, their
// memory while they work and after they have stopped, and whether requests are lost during repeated deployments at 50
// requests a second. BENCH_APPS and BENCH_DEPLOYS reduce the numbers.
import { setTimeout as delay } from 'node:timers/promises';
import { processesOf, readProcesses } from '../core/process/confinement/process-table.ts';
import { startPlatform } from '../test/setup/platform.ts';
import { SSR, ssrApp } from '../test/setup/ssr-app.ts';
import { until } from '../test/setup/until.ts';
import { formatTable, percentile } from './statistics.ts';

const apps = Number(process.env['BENCH_APPS'] ?? 20);
const deploys = Number(process.env['BENCH_DEPLOYS'] ?? 5);
const RATE = 50;
const BETWEEN_MS = 2000;
const IDLE_MS = 8000;

const platform = await startPlatform({}, { SSR_IDLE_MS: String(IDLE_MS) });
try {
  const names = Array.from({ length: apps }, (_, at) => `app${at}`);
  for (const name of names) await platform.deploy(name, '', SSR, versionOf(name, 0));
  await until(async () => (await platform.fetch('none')).status === 404);
  const first: number[] = [];
  const second: number[] = [];
  for (const name of names) {
    first.push(await timed(name));
    second.push(await timed(name));
  }
  const atWork = await servers();
  const rows: (string | number)[][] = [
    ['first answer of an app that does not run, ms, p50', percentile(first, 0.5)],
    ['the slowest of them, ms', Math.max(...first)],
    ['the second answer, ms, p50', percentile(second, 0.5)],
    [`${apps} apps at work: processes`, atWork.processes],
    ['memory of each, MB', atWork.bytes / apps / 1e6],
    ['memory of all, MB', atWork.bytes / 1e6],
  ];
  await until(async () => (await servers()).processes === 0);
  rows.push(['processes after nothing has come', (await servers()).processes]);
  const again: number[] = [];
  for (const name of names) again.push(await timed(name));
  rows.push(['first answer after the stop, ms, p50', percentile(again, 0.5)]);

  const [name] = names as [string];
  let isOver = false;
  const answers: Promise<string>[] = [];
  const visitor = (async () => {
    while (!isOver) {
      answers.push(
        platform.fetch(name, '/version').then(
          ({ status, text }) => (status === 200 ? `200 ${text}` : String(status)),
          (error: NodeJS.ErrnoException) => error.code ?? error.message,
        ),
      );
      await delay(1000 / RATE);
    }
  })();
  for (let version = 1; version <= deploys; version++) {
    await delay(BETWEEN_MS);
    await platform.deploy(name, '', SSR, versionOf(name, version));
  }
  await delay(BETWEEN_MS);
  isOver = true;
  await visitor;
  const said = await Promise.all(answers);
  const lost = said.filter((answer) => !answer.startsWith('200 '));
  rows.push(
    [`requests over ${deploys} deploys`, said.length],
    ['versions that answered', new Set(said).size],
    ['requests lost', lost.length],
  );
  process.stdout.write(`${formatTable(['servers for Node', ''], rows)}\n`);
  if (lost.length > 0) process.exitCode = 1;
} finally {
  await platform.close();
}

function versionOf(name: string, version: number): Record<string, string> {
  return ssrApp(`globalThis.routes = { '/version': (_, response) => response.end('${name} ${version}') };`);
}

async function timed(name: string): Promise<number> {
  const began = performance.now();
  const { status, text } = await platform.fetch(name);
  if (status !== 200) throw new Error(`${name}: ${status} ${text}`);
  return performance.now() - began;
}

/** Node processes of servers, and what they hold that they share with no file. */
async function servers(): Promise<{ readonly processes: number; readonly bytes: number }> {
  const { services } = await platform.state();
  const { pid = null } = services.find(({ name }) => name === 'ssr') ?? {};
  if (pid === null) return { processes: 0, bytes: 0 };
  const own = processesOf(await readProcesses(), pid, null).filter(({ id, threads }) => id !== pid && threads > 1);
  return { processes: own.length, bytes: own.reduce((sum, { bytes }) => sum + bytes, 0) };
}
