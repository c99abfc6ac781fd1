// The costs of test files and suites in CPU seconds, test/costs.json: `npm test -- --record` writes the file, and
// .ci/run chooses suites by it.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../tools/processes.ts';
import type { Measure } from './measure-process.ts';

/** CPU seconds by the path of a test file, or by `suite part`. */
export type Costs = Readonly<Record<string, number>>;

const place = path.join(root, 'test/costs.json');
/** Smaller changes of a cost are not recorded: machines differ, and the file would change with every run. */
const CHANGE_MIN = 0.25;
const SECONDS_MIN = 0.3;

export function readCosts(): Costs {
  return JSON.parse(readFileSync(place, 'utf8')) as Costs;
}

/** CPU seconds of a file: as recorded, otherwise a guess by its folder and size. */
export function costOf(costs: Costs, file: string): number {
  const known = costs[file];
  if (known !== undefined) return known;
  const base = file.startsWith('test/unit/') ? 0.1 : file.startsWith('test/contract/') ? 0.5 : 1.5;
  const at = path.join(root, file);
  return base + (existsSync(at) ? statSync(at).size / 20_000 : 0);
}

/** Records costs of files or suites; drops entries of deleted files. */
export function recordCosts(measures: readonly Measure[]): void {
  const costs: Record<string, number> = { ...readCosts() };
  for (const { file, cpuSeconds } of measures) {
    if (file.startsWith('node_modules/')) continue;
    const known = costs[file];
    const seconds = Math.round(cpuSeconds * 10) / 10;
    if (known === undefined || Math.abs(seconds - known) > Math.max(SECONDS_MIN, known * CHANGE_MIN))
      costs[file] = seconds;
  }
  const kept = Object.entries(costs).filter(
    ([name]) => !name.endsWith('.test.ts') || existsSync(path.join(root, name)),
  );
  kept.sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(place, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
