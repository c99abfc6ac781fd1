// `npm run test:all`: runs `npm run check`, `npm test` and every suite of test/suites.ts, one after the other, and
// prints a table. After an interruption, the next run on the same commit continues with the suites that have not
// passed; `--fresh` starts again. Words pick suites. Costs are written to test/costs.json.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { suites } from '#test/suites.ts';
import { describeCommit, describeMachine } from './tools/machine.ts';
import { root, runProgram } from './tools/processes.ts';
import { recordCosts } from './suites/costs.ts';
import { machineSeconds, usedSeconds } from './suites/measure-process.ts';
import { missingPackages } from './suites/run-suite.ts';
import { refuses } from './suites/words.ts';

/** A row of the table. */
interface Row {
  readonly name: string;
  readonly state: 'passed' | 'FAILED' | 'not run';
  readonly tests: number | null;
  readonly skipped: number | null;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  /** Reason for skipping. */
  readonly reason?: string;
}

interface Kept {
  readonly commit: string;
  readonly rows: readonly Row[];
}

const place = path.join(root, 'node_modules/.cache/test-all.json');

export async function run(words: readonly string[]): Promise<number> {
  const named = words.filter((word) => !word.startsWith('--'));
  const all = ['check', 'quick', ...suites.map(({ name }) => name)];
  if (refuses('npm run test:all', named, (name) => all.includes(name), all)) return 2;
  const packages = [...new Set(suites.flatMap(missingPackages))];
  if (packages.length > 0) process.stdout.write(`To run all of it: apt-get install ${packages.join(' ')}\n`);
  const commit = describeCommit(root);
  const kept = words.includes('--fresh') ? [] : readKept(commit);
  const rows = new Map(kept.map((row) => [row.name, row]));
  process.env['TEST_RECORD'] = '1';
  for (const name of named.length === 0 ? all : named) {
    if (rows.get(name)?.state === 'passed') continue;
    rows.set(name, await runOne(name));
    keep({ commit, rows: [...rows.values()] });
  }
  const ordered = all.flatMap((name) => rows.get(name) ?? []);
  process.stdout.write(tableOf(ordered));
  return ordered.every(({ state }) => state === 'passed') ? 0 : 1;
}

async function runOne(name: string): Promise<Row> {
  const suite = suites.find((one) => one.name === name);
  const missing = suite === undefined ? [] : missingPackages(suite);
  process.stdout.write(`\n=== ${name}\n`);
  if (missing.length > 0) {
    const reason = `needs ${missing.join(' ')}`;
    process.stdout.write(`not run: ${reason}\n`);
    return { name, state: 'not run', tests: null, skipped: null, cpuSeconds: 0, wallSeconds: 0, reason };
  }
  const clock = suite?.measuresMachine === true ? machineSeconds : usedSeconds;
  const [before, began] = [clock(), performance.now()];
  const task = name === 'check' ? [':check'] : [':test', ...(suite === undefined ? [] : [name])];
  const ended = await runProgram(process.execPath, [...nodeFlags, 'cli/run.mjs', ...task], { show: true, keep: true });
  const cpuSeconds = clock() - before;
  if (ended.code === 0) recordCosts([{ file: name, cpuSeconds }]);
  return {
    name,
    state: ended.code === 0 ? 'passed' : 'FAILED',
    tests: sumOf(ended.output, 'tests'),
    skipped: sumOf(ended.output, 'skipped'),
    cpuSeconds,
    wallSeconds: (performance.now() - began) / 1000,
  };
}

/** Sum of node:test's summary lines; null without any. */
function sumOf(output: string, what: string): number | null {
  const counts = Array.from(output.matchAll(new RegExp(`^. ${what} (\\d+)$`, 'gm')), ([, count]) => Number(count));
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}

function tableOf(rows: readonly Row[]): string {
  const line = (...cells: readonly string[]): string =>
    `${cells
      .map((cell, at) => (at < 2 || at > 5 ? cell.padEnd([16, 8][at] ?? 0) : cell.padStart(9)))
      .join(' ')
      .trimEnd()}\n`;
  const count = (value: number | null): string => (value === null ? '' : String(value));
  const total = (of: (row: Row) => number): string => rows.reduce((sum, row) => sum + of(row), 0).toFixed(0);
  const provesOf = (name: string): string => suites.find((suite) => suite.name === name)?.proves ?? '';
  return [
    `\n${describeMachine()}\n`,
    line('suite', 'state', 'tests', 'skipped', 'CPU s', 'wall s', 'proves'),
    ...rows.map((row) =>
      line(
        row.name,
        row.state,
        count(row.tests),
        count(row.skipped),
        row.cpuSeconds.toFixed(0),
        row.wallSeconds.toFixed(0),
        row.reason ?? provesOf(row.name),
      ),
    ),
    line(
      'all',
      '',
      total(({ tests }) => tests ?? 0),
      total(({ skipped }) => skipped ?? 0),
      total(({ cpuSeconds }) => cpuSeconds),
      total(({ wallSeconds }) => wallSeconds),
    ),
  ].join('');
}

function readKept(commit: string): readonly Row[] {
  try {
    const { commit: of, rows } = JSON.parse(readFileSync(place, 'utf8')) as Kept;
    return of === commit ? rows : [];
  } catch {
    // No stored state, or unreadable.
    return [];
  }
}

function keep(kept: Kept): void {
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, JSON.stringify(kept, null, 1));
}
