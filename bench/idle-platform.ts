// Runs `npm start` with the examples in a separate folder, without requests, and measures its processes. Used by
// idle-memory.bench.ts and loaded.bench.ts. Linux only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { processTree } from './load.ts';
import { root } from './packed-programs.ts';

/**
 * Idle isolates are trimmed after 3 s, connections to Postgres of engines and the broker are closed after 30, those of
 * the API process replaced after 300.
 */
const SETTLE_MS = 1000 * Number(process.env['BENCH_SETTLE_SECONDS'] ?? 45);
/** The first start builds the dashboard and the documentation, beside everything else. */
const SITES_MS_MAX = 180_000;

const TICKS_A_SECOND = 100;
const SITES_BUILDER = 'build/main.ts';

/**
 * Starts the platform over a data folder, waits until it is idle, and stops it afterwards.
 *
 * @param program of `programOf`
 * @param look gets the processes of the idle platform.
 */
export async function whileIdle<Result>(
  program: string,
  folder: string,
  variables: Readonly<Record<string, string>>,
  look: (pids: readonly number[]) => Result,
): Promise<Result> {
  const environment = {
    ...process.env,
    FS_PATH: folder,
    PLATFORM_HOME: folder,
    PLATFORM_CACHE_DIR: path.join(folder, 'cache'),
    HANDLER_PORT: process.env['HANDLER_PORT'] ?? '4391',
    HANDLER_PRIVATE_PORT: '0',
    API_PORT: process.env['API_PORT'] ?? '4392',
    UI_PORT: process.env['UI_PORT'] ?? '4393',
    DOCS_PORT: process.env['DOCS_PORT'] ?? '4394',
    NO_COLOR: '1',
    ...variables,
  };
  const words = program === root ? ['npm', 'start'] : [process.execPath, path.join(program, 'cli/run.mjs'), 'start'];
  const npm = spawn(words[0]!, words.slice(1), {
    cwd: program,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    for await (const line of createInterface({ input: npm.stdout })) if (line.startsWith('Ctrl-C')) break;
    for (const began = performance.now(); performance.now() - began < SITES_MS_MAX; await delay(1000))
      if (!processTree(npm.pid!).some((pid) => nameOf(pid) === SITES_BUILDER)) break;
    await delay(SETTLE_MS);
    return look(processTree(npm.pid!));
  } finally {
    const ended = once(npm, 'exit');
    if (npm.exitCode === null && npm.kill('SIGTERM')) await ended;
  }
}

/** Proportional set size in MB. */
export function pssOf(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Seconds of CPU of a process, and of its children that ended. */
export function cpuSecondsOf(pid: number): { readonly own: number; readonly ended: number } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const seconds = (from: number): number => (Number(fields[from]) + Number(fields[from + 1])) / TICKS_A_SECOND;
    return { own: seconds(11), ended: seconds(13) };
  } catch {
    return { own: 0, ended: 0 };
  }
}

/** The script, or the program's own name. */
export function nameOf(pid: number): string {
  let line = '';
  try {
    line = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    // It has ended.
  }
  const words = line.split('\0').filter((word) => word !== '');
  const script = words.slice(1).find((word) => /\.(?:m?[jt]s)$/.test(word) || word === 'start');
  if (/(?:^|\/)postgres/.test(words[0] ?? '')) return 'postgres';
  return script === undefined
    ? words.join(' ').slice(0, 40) || String(pid)
    : script.replace(`${root}/`, '').split('/').slice(-2).join('/');
}
