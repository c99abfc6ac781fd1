// How long the last `npm test`, `.ci/run` and `npm run check` took here: node_modules/.cache/times.json, which they
// write and the figures read. As a task (`cli/run.mjs :times NAME SECONDS`) it is what .ci/run calls. Not packed.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeCommit, describeMachine, describeTime } from './tools/machine.ts';
import { root } from './tools/processes.ts';

/** One measured run. */
export interface Time {
  readonly seconds: number;
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
}

const place = 'node_modules/.cache/times.json';

export function run([name, seconds]: readonly string[]): number {
  if (name === undefined || !Number.isFinite(Number(seconds))) {
    process.stderr.write('Usage: node cli/run.mjs :times NAME SECONDS\n');
    return 2;
  }
  recordTime(name, Number(seconds) * 1000);
  return 0;
}

/** Writes down how long a whole run took. */
export function recordTime(name: string, wallMs: number, folder: string = root): void {
  const seconds = Math.round(wallMs / 100) / 10;
  const time: Time = { seconds, date: describeTime(), commit: describeCommit(folder), machine: describeMachine() };
  const file = path.join(folder, place);
  mkdirSync(path.dirname(file), { recursive: true });
  // Renamed into place: the file may be a link shared with the node_modules of another checkout.
  writeFileSync(`${file}.new`, `${JSON.stringify({ ...readTimes(folder), [name]: time }, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** The times of the last runs in a checkout, by name. */
export function readTimes(folder: string): Readonly<Record<string, Time>> {
  try {
    return JSON.parse(readFileSync(path.join(folder, place), 'utf8')) as Record<string, Time>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
