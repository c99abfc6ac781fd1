// `npm run bench idle-memory`: what `npm start` with the examples holds while nothing is asked of it, by process, the
// first time and every other: the API process (control/main.ts) included, the builder only while it builds.
// Proportional set size: what processes share counts once over all of them. Linux only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from './cleanup.ts';
import { processTree } from './load.ts';
import { formatTable } from './statistics.ts';

/** Idle isolates are trimmed three seconds after their last request, and what was compiled is written. */
const SETTLE_MS = 15_000;
const TOTAL_MB_MAX = 450;

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
}

/** What an idle platform holds, by the names of its processes. */
async function measure(): Promise<Map<string, Row>> {
  const npm = spawn('npm', ['start'], { cwd: root, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    for await (const line of createInterface({ input: npm.stdout })) if (line.startsWith('Ctrl-C')) break;
    await delay(SETTLE_MS);
    const rows = new Map<string, Row>();
    const together = { count: 0, megabytes: 0 };
    for (const pid of processTree(npm.pid!)) {
      const name = nameOf(pid);
      const row = rows.get(name) ?? { count: 0, megabytes: 0 };
      const megabytes = pssOf(pid);
      for (const sum of [row, together]) {
        sum.count++;
        sum.megabytes += megabytes;
      }
      rows.set(name, row);
    }
    return rows.set('together', together);
  } finally {
    const ended = once(npm, 'exit');
    if (npm.exitCode === null && npm.kill('SIGTERM')) await ended;
  }
}

try {
  // What Node compiles of the sources is kept for the next start.
  const first = await measure();
  const again = await measure();
  const rows = [...again].map(([name, { count, megabytes }]) => [
    name,
    count,
    first.get(name)?.megabytes ?? 0,
    megabytes,
  ]);
  process.stdout.write(`${formatTable(['MB, proportional', 'processes', 'first start', 'every other'], rows)}\n`);
  const total = again.get('together')!.megabytes;
  if (total > TOTAL_MB_MAX) process.stdout.write(`  together: aim at most ${TOTAL_MB_MAX}, missed\n`);
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

/** The script, or the program's own name. */
function nameOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
    .split('\0')
    .filter((word) => word !== '');
  const script = words.slice(1).find((word) => /\.(?:m?[jt]s)$/.test(word) || word === 'start');
  if (/(?:^|\/)postgres/.test(words[0] ?? '')) return 'postgres';
  return script === undefined
    ? words.join(' ').slice(0, 40) || String(pid)
    : script.replace(`${root}/`, '').split('/').slice(-2).join('/');
}
