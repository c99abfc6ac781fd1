// Measures user and system time of a test process and its descendants. run-files.ts makes each test process import this
// module. Linux only; elsewhere only the process itself is measured.
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import path from 'node:path';
import { root } from '../tools/processes.ts';

/** CPU seconds (user and system) of a test file, or of a process with several files, by the path in the checkout. */
export interface Measure {
  readonly file: string;
  readonly cpuSeconds: number;
}

/** Variable with the path of the output file. */
export const MEASURES_VARIABLE = 'TEST_MEASURES';
/** Clock ticks per second in /proc. */
const TICKS_PER_SECOND = 100;

const place = process.env[MEASURES_VARIABLE];
// Only the process of a test file is measured here, not the processes that it starts.
delete process.env[MEASURES_VARIABLE];
const entry = process.argv[1] ?? '';
if (place !== undefined && /\.test\.m?[jt]s$/.test(entry)) {
  process.on('exit', () => writeMeasure({ file: path.relative(root, entry), cpuSeconds: usedSeconds() }));
  // This listener must run after all listeners of node:test.
  process.on('beforeExit', () => process.off('exit', leave).on('exit', leave));
}

/**
 * Ends a process after its tests like `process.exit()`, without destroying Node's environment: a late weak reference of
 * isolated-vm would find no environment and abort. All output to pipes has been written before.
 */
function leave(): void {
  flushCompileCache();
  (process as unknown as { reallyExit(code: number): never }).reallyExit(Number(process.exitCode ?? 0));
}

/** Writes a measure for run-files.ts, if requested. */
export function writeMeasure(measure: Measure): void {
  if (place !== undefined) appendFileSync(place, `${JSON.stringify(measure)}\n`);
}

/** The measures of a run. */
export function readMeasures(file: string): readonly Measure[] {
  try {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as Measure);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** CPU seconds of this process, of its ended children and of all its running descendants. */
export function usedSeconds(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  if (process.platform !== 'linux') return own;
  const all = new Map<number, { readonly parent: number; readonly own: number; readonly ended: number }>();
  for (const name of readdirSync('/proc')) {
    const fields = /^\d+$/.test(name) ? statOf(name) : null;
    if (fields === null) continue;
    const [parent, ...ticks] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]));
    const [userTicks, systemTicks, childUser, childSystem] = ticks.map((count) => count / TICKS_PER_SECOND);
    all.set(Number(name), {
      parent: parent!,
      own: userTicks! + systemTicks!,
      ended: childUser! + childSystem!,
    });
  }
  let below = 0;
  for (const [pid, one] of all) {
    if (pid === process.pid) below += one.ended;
    else if (isBelow(pid, (id) => all.get(id)?.parent)) below += one.own + one.ended;
  }
  return own + below;
}

/** CPU seconds of the whole machine since its start, without waits for disks. Linux only. */
export function machineSeconds(): number {
  const [user, nice, system, , , interrupts, softInterrupts] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number) as [number, number, number, number, number, number, number];
  return (user + nice + system + interrupts + softInterrupts) / TICKS_PER_SECOND;
}

/** The fields of /proc/<pid>/stat after the name, which may contain any characters; null if the process has ended. */
function statOf(pid: string): readonly string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

function isBelow(pid: number, parentOf: (pid: number) => number | undefined): boolean {
  for (let at = parentOf(pid); at !== undefined && at > 1; at = parentOf(at)) if (at === process.pid) return true;
  return false;
}
