// `npm run bench profile`: the parts of the CPU of one hello request by thread, at 1, 8 and 64 connections, and how
// often threads wait for each other; the same for single operations of bindings. It compares nothing: `npm run bench
// hello` does. BENCH_LISTENERS=uws, BENCH_CONNECTIONS=1 and BENCH_OPERATIONS=none shorten it.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { startProduction } from './bindings-platforms.ts';
import { temporaryFolder } from './cleanup.ts';
import { missingWrk, runWrk, seconds, type Target } from './load.ts';
import { profileShares, type CpuProfile } from './profile-shares.ts';
import { wantsConnections } from './requests.ts';
import { ask, publishWorkers, startEngine, uwsMissing } from './servers.ts';
import { formatTable, digits } from './statistics.ts';
import { countSystemCalls } from './system-calls.ts';
import { readThreads, usedBetween, type ThreadFigures } from './thread-figures.ts';

const FUNCTIONS_SHOWN = 12;
/** What takes less of a request is not shown. */
const SHOWN_US_MIN = 0.05;
const SYSTEM_CALLS_SHOWN = 10;
/** Of fewer ticks no share is told. */
const TICKS_MIN = 5;
const OPERATIONS_WARM = 2000;
const OPERATIONS_COUNT = 5000;
const listeners = [
  ['node', 'ours, node:http'],
  ['uws', 'ours, uWebSockets.js'],
] as const;
const pickedListeners = process.env['BENCH_LISTENERS']?.split(',');
const operations = (process.env['BENCH_OPERATIONS'] ?? 'db insert,db select,state get,queue send').split(',');

const missing = missingWrk();
if (missing !== null) {
  process.stderr.write(`${missing}\n`);
  process.exit(1);
}
process.stdout
  .write(`waits: times that a thread had nothing to do and was woken; taken off: times that it was and had work
(system: share of its CPU time, by ticks of the system's clock)
`);
for (const [listener, name] of listeners) {
  if (pickedListeners !== undefined && !pickedListeners.includes(listener)) continue;
  const reason = listener === 'uws' ? uwsMissing() : null;
  if (reason === null) await profileListener(listener, name);
  else process.stdout.write(`${name} is left out: ${reason}\n`);
}
if (!operations.includes('none')) await profileOperations();

async function profileListener(listener: 'node' | 'uws', name: string): Promise<void> {
  const folder = await publishWorkers('hello', ['hello']);
  const file = path.join(temporaryFolder(), 'main.cpuprofile');
  const loaded = pathToFileURL(path.join(import.meta.dirname, 'profile-main-thread.ts')).href;
  const server = await startEngine(name, folder, listener, 'hello', '/', {
    NODE_OPTIONS: `--import=${loaded}`,
    BENCH_PROFILE_FILE: file,
  });
  try {
    for (const connections of [1, 8, 64].filter(wantsConnections)) await profileLoad(server, connections, file);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function profileLoad(server: Target, connections: number, file: string): Promise<void> {
  await runWrk(server, { connections });
  const { used, requests, joined, p50Ms } = await usedUnderLoad(server, connections);
  const title = `${server.name}, ${connections} connection${connections === 1 ? '' : 's'}: us a request`;
  process.stdout.write(`\n${threadTable(title, used, requests)}\n`);
  process.stdout.write(`  ${digits(joined)} requests entered together; p50 ${digits(p50Ms * 1000)} us\n`);

  process.kill(server.pid, 'SIGUSR2');
  await runWrk(server, { connections });
  process.kill(server.pid, 'SIGUSR2');
  while (!existsSync(file)) await delay(20);
  const { owners, functions } = profileShares(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile);
  rmSync(file);
  // The profile itself costs CPU: its shares are taken of what the main thread used without it.
  const mainUs = used.filter(({ thread }) => thread === 'main').reduce((sum, { cpuNs }) => sum + cpuNs, 0) / 1000;
  const rows = (shares: readonly { name: string; share: number }[]): (string | number)[][] =>
    shares
      .map(({ name, share }) => [name, (share * mainUs) / requests])
      .filter(([, us]) => (us as number) >= SHOWN_US_MIN);
  process.stdout.write(`\n${formatTable(['  main thread, by owner', 'us'], indented(rows(owners)))}\n`);
  const shown = rows(functions.slice(0, FUNCTIONS_SHOWN));
  process.stdout.write(`\n${formatTable(['  main thread, by function', 'us'], indented(shown))}\n`);

  const calls = await countSystemCalls(server.pid, () => usedUnderLoad(server, connections));
  if (typeof calls === 'string') process.stdout.write(`\n  System calls are not counted: ${calls}\n`);
  else {
    const lines = calls.counts
      .map(({ thread, name, count }) => [`${thread}: ${name}`, count / calls.result.requests])
      .slice(0, SYSTEM_CALLS_SHOWN);
    process.stdout.write(`\n${formatTable(['  system calls', 'a request'], indented(lines))}\n`);
  }
}

interface Used {
  readonly used: readonly ThreadFigures[];
  readonly requests: number;
  readonly joined: number;
  readonly p50Ms: number;
}

async function usedUnderLoad(server: Target, connections: number): Promise<Used> {
  const before = readThreads(server.pid, () => 'engine');
  const { perSecond, joined, p50Ms } = await runWrk(server, { connections });
  const used = usedBetween(
    before,
    readThreads(server.pid, () => 'engine'),
  );
  return { used, requests: perSecond * seconds, joined, p50Ms };
}

/** Operations of bindings one after the other: who works for one, and how many waits it takes. */
async function profileOperations(): Promise<void> {
  const server = await startProduction('handler');
  try {
    await ask(server, '/prepare');
    for (const operation of operations) {
      const target = `/?op=${encodeURIComponent(operation)}&n=`;
      await ask(server, target + OPERATIONS_WARM);
      const before = readThreads(server.pid, processName);
      await ask(server, target + OPERATIONS_COUNT);
      const used = usedBetween(before, readThreads(server.pid, processName));
      process.stdout.write(`\n${threadTable(`${operation}: us an operation`, used, OPERATIONS_COUNT)}\n`);
    }
  } finally {
    await server.stop();
  }
}

function threadTable(title: string, used: readonly ThreadFigures[], count: number): string {
  const rows = used
    .filter(({ cpuNs }) => cpuNs / 1000 / count >= SHOWN_US_MIN)
    .map(({ process: name, thread, cpuNs, userTicks, systemTicks, waits, preemptions }) => [
      `${name}: ${thread}`,
      cpuNs / 1000 / count,
      userTicks + systemTicks < TICKS_MIN ? '-' : `${Math.round((100 * systemTicks) / (userTicks + systemTicks))}%`,
      waits / count,
      preemptions / count,
    ]);
  const sum = (figure: 'cpuNs' | 'waits' | 'preemptions'): number =>
    used.reduce((all, figures) => all + figures[figure], 0) / count;
  rows.push(['all', sum('cpuNs') / 1000, '', sum('waits'), sum('preemptions')]);
  return formatTable([title, 'CPU us', 'system', 'waits', 'taken off'], rows);
}

/** The last word of its command line that says what it is. */
function processName(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const file = words.find((word) => /\.(?:ts|mjs)$/.test(word) && !word.includes('='));
    return file === undefined
      ? path
          .basename(words[0] ?? '')
          .split(' ')
          .slice(0, 2)
          .join(' ')
      : file.split('/').slice(-2)[0]!;
  } catch {
    return 'gone';
  }
}

function indented(rows: readonly (readonly (string | number)[])[]): (string | number)[][] {
  return rows.map(([name, ...figures]) => [`  ${name}`, ...figures]);
}
