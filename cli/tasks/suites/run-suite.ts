// Runs a suite of test/suites.ts, or a part of it: checks requirements, sets variables, runs its files or module, and
// measures the cost.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { rungOf, type Suite } from '#test/suites.ts';
import { root, runProgram } from '../tools/processes.ts';
import { recordCosts } from './costs.ts';
import { machineSeconds, usedSeconds } from './measure-process.ts';
import { allTestFiles, pickFiles, refusesFiles, runTestFiles } from './test-files.ts';

/** Result of a suite. */
interface SuiteEnd {
  readonly code: number;
  /** User and system time of all processes of the suite. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

/**
 * Runs a suite.
 *
 * @param words parts or files of the suite, and options for node:test; without any, the whole suite runs.
 */
export async function runSuite(suite: Suite, words: readonly string[]): Promise<SuiteEnd> {
  const began = performance.now();
  const clock = suite.measuresMachine === true ? machineSeconds : usedSeconds;
  const before = clock();
  const end = (code: number): SuiteEnd => ({
    code,
    cpuSeconds: clock() - before,
    wallSeconds: (performance.now() - began) / 1000,
  });
  const missing = missingPackages(suite);
  if (missing.length > 0) {
    process.stderr.write(`npm test -- ${suite.name} needs packages: apt-get install ${missing.join(' ')}\n`);
    return end(1);
  }
  for (const folder of suite.installs ?? []) {
    const code = await install(folder);
    if (code !== 0) return end(code);
  }
  for (const [name, value] of Object.entries(suite.environment ?? {})) process.env[name] ??= value;
  const ended = end(suite.own === true ? await runOwn(suite, words) : await runFiles(suite, words));
  const named = words.filter((word) => !word.startsWith('--'));
  if (process.env['TEST_RECORD'] === '1' && ended.code === 0 && named.length <= 1)
    recordCosts([{ file: [suite.name, ...named].join(' '), cpuSeconds: ended.cpuSeconds }]);
  return ended;
}

/** Test files of a suite. */
export function filesOf({ name, importing }: Suite, files: readonly string[] = allTestFiles()): readonly string[] {
  if (importing === undefined) return files.filter((file) => rungOf(file) === name);
  const imports = new RegExp(`setup/(?:${importing.join('|')})\\.ts'`);
  return files.filter((file) => rungOf(file) === 'quick' && imports.test(readFileSync(path.join(root, file), 'utf8')));
}

/** Missing Debian packages of a suite; empty without dpkg. */
export function missingPackages({ packages = [] }: Suite): readonly string[] {
  return packages.filter((name) => {
    const { status, stdout, error } = spawnSync('dpkg-query', ['-W', '-f=${Status}', name], { encoding: 'utf8' });
    return error === undefined && (status !== 0 || !stdout.endsWith(' installed'));
  });
}

async function install(folder: string): Promise<number> {
  if (existsSync(path.join(root, folder, 'node_modules/.package-lock.json'))) return 0;
  process.stdout.write(`npm ci in ${folder}\n`);
  const { code, output } = await runProgram('npm', ['ci', '--no-audit', '--no-fund'], { cwd: path.join(root, folder) });
  if (code !== 0) process.stderr.write(output);
  return code;
}

async function runOwn(suite: Suite, words: readonly string[]): Promise<number> {
  const module = (await import(`./${suite.name}.ts`)) as { run(words: readonly string[]): Promise<number> };
  return module.run(words);
}

async function runFiles(suite: Suite, words: readonly string[]): Promise<number> {
  const options = words.filter((word) => word.startsWith('--'));
  const named = words.filter((word) => !word.startsWith('--'));
  const all = filesOf(suite);
  if (refusesFiles(suite.name, named, all)) return 2;
  return runTestFiles(pickFiles(all, named), [`--test-concurrency=${suite.jobs ?? 2}`, ...options]);
}
