// `npm run bench idle`: memory and CPU of `npm start` with the examples but without requests, by process, for the first
// and the second start. Memory is the proportional set size: shared memory is divided among its processes.
// BENCH_PROGRAM=modules or bundles measures the packed program without or with bundles, which has no examples.
// BENCH_SETTLE_SECONDS (45) is the pause before the measurement. Linux only.
import { rmSync } from 'node:fs';
import { temporaryFolder } from './cleanup.ts';
import { cpuSecondsOf, nameOf, pssOf, whileIdle } from './idle-platform.ts';
import { programOf } from './packed-programs.ts';
import { digits, formatTable } from './statistics.ts';

const [TOTAL_MB_MAX, TOTAL_CPU_S_MAX] = [400, 5];
const folder = temporaryFolder();
const program = await programOf(process.env['BENCH_PROGRAM'] ?? 'checkout');

interface Row {
  count: number;
  megabytes: number;
  /** User and system time. */
  cpuS: number;
}

/** Memory and CPU of an idle platform, by the names of its processes. */
function measure(): Promise<Map<string, Row>> {
  return whileIdle(program, folder, {}, (pids) => {
    const rows = new Map<string, Row>();
    const add = (name: string, count: number, megabytes: number, cpuS: number): void => {
      for (const key of [name, 'together']) {
        const row = rows.get(key) ?? { count: 0, megabytes: 0, cpuS: 0 };
        rows.set(key, { count: row.count + count, megabytes: row.megabytes + megabytes, cpuS: row.cpuS + cpuS });
      }
    };
    for (const pid of pids) {
      const { own, ended } = cpuSecondsOf(pid);
      add(nameOf(pid), 1, pssOf(pid), own);
      if (ended > 0) add(`ended, of ${nameOf(pid)}`, 0, 0, ended);
    }
    return rows;
  });
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
