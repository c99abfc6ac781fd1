// What .ci/run does after `npm ci`, in the order of a newcomer: `npm test` with nothing installed, `npm run check`, the
// first project by the lines of the README; then it installs Debian packages and runs parts of the slow suites: those
// that the change since CI_BASE (default: the last day) reaches, then share CI_SHARE of six (default: by the commit's
// hash), up to a fixed cost, or less where `npm test` shows that this machine has no time for it within half an hour. A
// failed step runs once more. The end of the output names each step that failed, even if it passed later. `--plan` only
// prints what would run, with the sums of all shares.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { rungOf, suites, type Suite } from '#test/suites.ts';
import { root, runProgram } from './tools/processes.ts';
import { chooseParts, roomFor, SHARES, type Choice, type Part } from './suites/choose.ts';
import { costOf, readCosts, type Costs } from './suites/costs.ts';
import { changedFiles, reach } from './suites/reach.ts';
import { filesOf, missingPackages } from './suites/run-suite.ts';
import { allTestFiles } from './suites/test-files.ts';
import { recordTime } from './times.ts';

/** CPU seconds of the slow suites in one submission, if the machine has time for them. */
const BUDGET = 800;
/** Seconds for all steps together: half an hour, minus a reserve of two minutes for packages and delays. */
const SECONDS_MAX = 1680;
/**
 * Minimum cost of a file whose tests `npm test` skips, because their requirements are missing when costs are recorded.
 */
const SKIPPED_COST = 8;
/** Cost of a part without a recorded cost. */
const UNKNOWN_COST = 100;
/** Files of e2e that every submission runs. */
const FIRST_PROJECT: readonly string[] = ['first-project', 'documented-pages'];
/** Timeout of a step. */
const STEP_MS_MAX = 20 * 60_000;
const FAILURE_LINES = 200;

/** A command. */
interface Step {
  readonly name: string;
  readonly program: string;
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export async function run(words: readonly string[]): Promise<number> {
  const share = Number(process.env['CI_SHARE'] ?? Number.parseInt(headCommit().slice(0, 8), 16) % SHARES);
  if (!Number.isInteger(share) || share < 0 || share >= SHARES) {
    process.stderr.write(`CI_SHARE is one of 0 to ${SHARES - 1}, not ${process.env['CI_SHARE']}\n`);
    return 2;
  }
  const base = process.env['CI_BASE'] ?? lastDay();
  const changed = await changedFiles(base);
  if (changed === null) {
    process.stderr.write(`CI_BASE: there is no commit ${base} in this clone\n`);
    return 2;
  }
  const costs = readCosts();
  const parts = partsOf(costs, changed);
  process.stdout.write(plan(changed, base, parts, share));
  if (words.includes('--plan')) return 0;
  const scratch = mkdtempSync(path.join(tmpdir(), 'platform-submission-'));
  process.env['NODE_COMPILE_CACHE'] ??= path.join(scratch, 'compiled');
  try {
    return await runSteps(steps(costs, parts, share), scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The parts of all slow suites, with their costs on this machine and their distances from the change. */
function partsOf(costs: Costs, changed: readonly string[]): readonly Part[] {
  const reached = reach(changed);
  const files = allTestFiles();
  return suites.flatMap((suite): readonly Part[] => {
    const { name, parts, covers = [], submission } = suite;
    const share = submission?.share ?? 1;
    if (parts !== undefined) {
      const distance = reached.distanceOfFolder(suite.folder, covers);
      return parts.map((part) => {
        const cost = costs[`${name} ${part}`] ?? (costs[name] ?? UNKNOWN_COST * parts.length) / parts.length;
        return { suite: name, name: part, cost: cost * share, distance };
      });
    }
    const covered = changed.some((file) => covers.some((prefix) => file.startsWith(prefix))) ? 1 : null;
    const slowFiles = filesOf(suite, files).filter(
      (file) => name !== 'e2e' || !FIRST_PROJECT.includes(path.basename(file, '.test.ts')),
    );
    return slowFiles.map((file) => ({
      suite: name,
      name: path.basename(file, '.test.ts'),
      cost: Math.max(costOf(costs, file), suite.importing === undefined ? 0 : SKIPPED_COST) * share,
      distance: reached.distanceOf(file) ?? covered,
    }));
  });
}

/** The steps of a submission; the steps of slow suites are chosen after the others. */
function* steps(costs: Costs, parts: readonly Part[], share: number): Generator<Step, void> {
  const npm = (name: string, ...words: readonly string[]): Step => ({ name, program: 'npm', words });
  const began = performance.now();
  yield npm('npm test', 'test', '--silent');
  const quickSeconds = (performance.now() - began) / 1000;
  yield npm('npm run check', 'run', '--silent', 'check');
  yield { name: 'subjects of commits', program: process.execPath, words: ['cli/run.mjs', ':subjects'] };
  yield npm('the first project of a new user', 'test', '--silent', '--', 'e2e', ...FIRST_PROJECT);

  const quickFiles = allTestFiles().filter((file) => rungOf(file) === 'quick');
  const quickCost = quickFiles.reduce((sum, file) => sum + costOf(costs, file), 0);
  const room = roomFor(SECONDS_MAX - performance.now() / 1000, quickSeconds / quickCost);
  const { chosen, left } = chooseParts(parts, Math.min(BUDGET, room), share);
  if (room < BUDGET) process.stdout.write(lateness(room, chosen, left));
  yield* slowSteps(chosen);
}

function slowSteps(chosen: readonly Choice[]): readonly Step[] {
  const slow = suites
    .map((suite) => ({
      suite,
      names: chosen.filter(({ part }) => part.suite === suite.name).map(({ part }) => part.name),
    }))
    .filter(({ names }) => names.length > 0);
  const packages = [...new Set(slow.flatMap(({ suite }) => missingPackages(suite)))];
  return [
    ...(packages.length === 0 ? [] : [installStep(packages)]),
    ...slow.map(({ suite, names }) => suiteStep(suite, names)),
  ];
}

function installStep(packages: readonly string[]): Step {
  const install = 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null';
  return {
    name: `packages: ${packages.join(' ')}`,
    program: 'sh',
    words: ['-c', install, 'sh', ...packages],
    environment: { DEBIAN_FRONTEND: 'noninteractive' },
  };
}

function suiteStep({ name, parts: all, submission }: Suite, parts: readonly string[]): Step {
  return {
    name: `${name}: ${parts.join(' ')}`,
    program: process.execPath,
    words: [...nodeFlags, 'cli/run.mjs', ':test', name, ...(parts.length === all?.length ? [] : parts)],
    ...(submission === undefined ? {} : { environment: submission.environment }),
  };
}

/** Runs all steps; returns 1 if one failed twice. */
async function runSteps(steps: Iterable<Step>, scratch: string): Promise<number> {
  const failures: string[] = [];
  const lines: string[] = [];
  let code = 0;
  for (const step of steps) {
    const began = performance.now();
    const seconds = (): string => `${((performance.now() - began) / 1000).toFixed(0)} s`;
    const list = path.join(scratch, 'failed');
    rmSync(list, { force: true });
    let output = await attempt(step, { TEST_FAILURES: list });
    let state = 'ok';
    if (output !== null) {
      failures.push(`\n=== FAILED at try 1: ${step.name}\n${output}`);
      const only = isFilled(list) ? { TEST_ONLY: list } : {};
      output = await attempt(step, only);
      state = output === null ? 'ok at the second try' : 'FAILED';
      if (output !== null) {
        failures.push(`\n=== FAILED at try 2: ${step.name}\n${output}`);
        code = 1;
      }
    }
    lines.push(`${seconds().padStart(7)}  ${state}  ${step.name}`);
    process.stdout.write(`=== ${state}, ${seconds()}\n`);
  }
  process.stdout.write(`${failures.join('')}\n${lines.join('\n')}\n`);
  process.stdout.write(`${(performance.now() / 1000).toFixed(0)} s in all\n`);
  if (code === 0) recordTime('.ci/run', performance.now());
  return code;
}

/** Runs a step once; returns null on success, else the output of its failures. */
async function attempt(step: Step, environment: Readonly<Record<string, string>>): Promise<string | null> {
  process.stdout.write(`\n=== ${step.name}\n`);
  const ended = await runProgram(step.program, step.words, {
    show: true,
    keep: true,
    msMax: STEP_MS_MAX,
    env: { ...process.env, ...step.environment, ...environment },
  });
  if (ended.code === 0) return null;
  const lines = ended.output.split('\n');
  const list = lines.findIndex((line) => line.endsWith('failing tests:'));
  return (list === -1 ? lines.slice(-60) : lines.slice(list, list + FAILURE_LINES)).join('\n');
}

function isFilled(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').trim() !== '';
  } catch {
    return false;
  }
}

function plan(changed: readonly string[], base: string, parts: readonly Part[], share: number): string {
  const { chosen, left } = chooseParts(parts, BUDGET, share);
  const sums = Array.from({ length: SHARES }, (_, at) => {
    const sum = sumOf(chooseParts(parts, BUDGET, at).chosen);
    return `share ${at}${at === share ? ' (this one)' : ''}: ${sum.toFixed(0)} s`;
  });
  return [
    `${changed.length} files changed since ${base.slice(0, 12)}. CPU seconds of slow parts in a submission (at most ${BUDGET}): ${sums.join(', ')}\n`,
    `\nRuns, ${sumOf(chosen).toFixed(0)} s:\n`,
    ...chosen.map(row),
    '\nLeft to `npm run test:all`:\n',
    ...left.map(row),
  ].join('');
}

function row({ part, reason }: Choice): string {
  return `${part.cost.toFixed(0).padStart(6)}  ${part.suite} ${part.name}: ${reason}\n`;
}

/** Parts of the printed plan that a slow machine skips. */
function lateness(room: number, chosen: readonly Choice[], left: readonly Choice[]): string {
  return [
    `\nThis machine has time for ${room.toFixed(0)} of ${BUDGET} CPU seconds of slow parts. Runs, ${sumOf(chosen).toFixed(0)} s:\n`,
    ...chosen.map(row),
    '\nLeft out:\n',
    ...left.map(row),
  ].join('');
}

function sumOf(choices: readonly Choice[]): number {
  return choices.reduce((sum, { part }) => sum + part.cost, 0);
}

/** The newest commit older than a day, else the first commit. */
function lastDay(): string {
  const git = (...words: string[]): string => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  return (
    git('rev-list', '-1', '--before=1 day ago', 'HEAD') ||
    git('rev-list', '--max-parents=0', 'HEAD').split('\n').at(-1)!
  );
}

function headCommit(): string {
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
}
