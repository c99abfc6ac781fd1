// Durations of the last `npm test`, `.ci/run` and `npm run check`, stored in node_modules/.cache/times.json for the
// figures. .ci/run calls it as a task: `cli/run.mjs :times NAME SECONDS`. Not packed.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeCommit, describeMachine, describeTime } from './tools/machine.ts';
import { root } from './tools/processes.ts';

/** A measured run. */
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

/** Records the duration of a full run. */
export function recordTime(name: string, wallMs: number, folder: string = root): void {
  const seconds = Math.round(wallMs / 100) / 10;
  const time: Time = { seconds, date: describeTime(), commit: describeCommit(folder), machine: describeMachine() };
  const file = path.join(folder, place);
  mkdirSync(path.dirname(file), { recursive: true });
  // Replace by rename: the file may be a link shared with another checkout.
  writeFileSync(`${file}.new`, `${JSON.stringify({ ...readTimes(folder), [name]: time }, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** Durations of the last runs in a checkout, by name. */
export function readTimes(folder: string): Readonly<Record<string, Time>> {
  try {
    return JSON.parse(readFileSync(path.join(folder, place), 'utf8')) as Record<string, Time>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}
