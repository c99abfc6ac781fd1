// `npm run bench idle`: memory of `npm start` with the examples while it gets no requests, and the CPU it used until
// then, by process, for the first start and for the second one. The builder runs only while it builds.
// Proportional set size: memory that processes share counts once over all of them. Linux only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from './cleanup.ts';
import { processTree } from './load.ts';
import { digits, formatTable } from './statistics.ts';

/** Idle isolates are trimmed after 3 s, connections to Postgres that the start needed are closed after 30. */
const SETTLE_MS = 45_000;
const [TOTAL_MB_MAX, TOTAL_CPU_S_MAX] = [400, 5];
/** The first start builds the dashboard and the documentation, beside everything else. */
const SITES_MS_MAX = 180_000;

const TICKS_A_SECOND = 100;
const SITES_BUILDER = 'build/main.ts';

const root = path.join(import.meta.dirname, '..');
const folder = temporaryFolder();
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
};

interface Row {
  count: number;
  megabytes: number;
  /** User and system time. */
  cpuS: number;
}

/** Memory and CPU of an idle platform, by the names of its processes. */
async function measure(): Promise<Map<string, Row>> {
  const npm = spawn('npm', ['start'], { cwd: root, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    for await (const line of createInterface({ input: npm.stdout })) if (line.startsWith('Ctrl-C')) break;
    for (const began = performance.now(); performance.now() - began < SITES_MS_MAX; await delay(1000))
      if (!processTree(npm.pid!).some((pid) => nameOf(pid) === SITES_BUILDER)) break;
    await delay(SETTLE_MS);
    const rows = new Map<string, Row>();
    const add = (name: string, count: number, megabytes: number, cpuS: number): void => {
      for (const key of [name, 'together']) {
        const row = rows.get(key) ?? { count: 0, megabytes: 0, cpuS: 0 };
        rows.set(key, { count: row.count + count, megabytes: row.megabytes + megabytes, cpuS: row.cpuS + cpuS });
      }
    };
    for (const pid of processTree(npm.pid!)) {
      const { own, ended } = cpuSecondsOf(pid);
      add(nameOf(pid), 1, pssOf(pid), own);
      if (ended > 0) add(`ended, of ${nameOf(pid)}`, 0, 0, ended);
    }
    return rows;
  } finally {
    const ended = once(npm, 'exit');
    if (npm.exitCode === null && npm.kill('SIGTERM')) await ended;
  }
}

try {
  // What Node compiles of the sources is kept for the next start.
  const first = await measure();
  const again = await measure();
  const names = [...new Set([...first.keys(), ...again.keys()])].filter((name) => name !== 'together');
  const rows = [...names, 'together'].map((name) => {
    const [one, other] = [first.get(name), again.get(name)];
    const cells = [one?.megabytes, other?.megabytes, one?.cpuS, other?.cpuS].map((value) => value ?? 0);
    return [name, other?.count ?? 0, ...cells];
  });
  const head = ['process', 'count', 'PSS MB, first', 'second start', 'CPU s, first', 'second start'];
  process.stdout.write(`${formatTable(head, rows)}\n`);
  const { megabytes, cpuS } = again.get('together')!;
  const aim = (figure: number, most: number, unit: string): string =>
    `${digits(figure)} ${unit} (aim: at most ${most}${figure > most ? ', missed' : ''})`;
  process.stdout.write(
    `  second start: ${aim(megabytes, TOTAL_MB_MAX, 'MB')}, ${aim(cpuS, TOTAL_CPU_S_MAX, 's of CPU')}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function pssOf(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Seconds of CPU of a process, and of its children that ended. */
function cpuSecondsOf(pid: number): { readonly own: number; readonly ended: number } {
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
function nameOf(pid: number): string {
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
