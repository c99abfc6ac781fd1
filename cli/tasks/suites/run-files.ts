// Runs test files with node:test, the most expensive first. Files share a process if possible, since a process and its
// imports cost more than most files. Prints the costs of the most expensive files. Started by test-files.ts with
// `--test-concurrency=N`, `--test-reporter=NAME`, `--always`, files. TEST_FAILURES names a file that gets the path of
// each file that failed; TEST_ONLY names such a file: only files listed there run, unless `--always`.
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import * as reporters from 'node:test/reporters';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { dearFiles, FILE_CPU_SECONDS_MAX, rungOf } from '#test/suites.ts';
import { root } from '../tools/processes.ts';
import { costOf, readCosts, recordCosts } from './costs.ts';
import { groupsOf } from './groups.ts';
import { MEASURES_VARIABLE, readMeasures, usedSeconds, type Measure } from './measure-process.ts';

/**
 * A time limit for each process, which is enough on a busy machine. The processes are not forced to exit, because they
 * would lose results that are not reported yet.
 */
const TIMEOUT_MS = 900_000;
/** Longer timeout: some suites run kill tests for 15 minutes. */
const SLOW_TIMEOUT_MS = 1_800_000;
const DEAREST_SHOWN = 20;

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<void> {
  const option = (name: string): string | undefined =>
    words.findLast((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  const costs = readCosts();
  const { TEST_ONLY: only, TEST_FAILURES: failures, TEST_RECORD: record } = process.env;
  // Runs that tests have started do not print this.
  for (const name of ['TEST_ONLY', 'TEST_FAILURES', 'TEST_RECORD', MEASURES_VARIABLE]) delete process.env[name];
  const given = words.filter((word) => !word.startsWith('--'));
  const files = only === undefined || words.includes('--always') ? given : listed(given, only);
  if (files.length === 0) return;
  const scratch = mkdtempSync(path.join(tmpdir(), 'platform-run-'));
  process.env[MEASURES_VARIABLE] = path.join(scratch, 'measures');
  const groups = writeGroups(files, (file) => costOf(costs, file));
  const failed = new Set<string>();
  const durations = new Map<string, number>();
  const stream = run({
    files: groups.map(({ entry }) => path.join(root, entry)),
    cwd: root,
    concurrency: Number(option('test-concurrency') ?? 1),
    timeout: files.every((file) => rungOf(file) === 'quick') ? TIMEOUT_MS : SLOW_TIMEOUT_MS,
    execArgv: [...process.execArgv, '--import', new URL('measure-process.ts', import.meta.url).href],
    // One Postgres for the whole run, if a file needs it. The types of Node do not have this option yet.
    ...({ globalSetupPath: path.join(root, 'test/setup/global.ts') } as object),
  });
  // A crashed process is a failure with the path of its entry; the failure of a file in a group is a suite with the
  // name of the file.
  stream.on('test:fail', ({ name, file }) => {
    for (const { entry, members } of groups) {
      if (name === file && path.relative(root, file) === entry) members.forEach((member) => failed.add(member));
      else if (members.includes(name)) failed.add(name);
    }
  });
  stream.on('test:summary', ({ file, success, duration_ms: ms }) => {
    if (file === undefined) {
      if (!success) process.exitCode = 1;
      return;
    }
    durations.set(path.relative(root, file), ms);
    const group = groups.find(({ entry }) => entry === path.relative(root, file));
    if (success || group === undefined) return;
    // The suites of a group have reported its failed files before the process ended.
    if (!group.members.some((member) => failed.has(member))) group.members.forEach((member) => failed.add(member));
  });
  stream.once('end', () => {
    if (failures !== undefined) appendFileSync(failures, [...failed, ''].join('\n'));
    const measures = readMeasures(path.join(scratch, 'measures'));
    if (record === '1') recordCosts(withShared(measures, durations));
    setImmediate(() => process.stdout.write(dearest(measures)));
    rmSync(scratch, { recursive: true, force: true });
  });
  const reporter = await loadReporter(option('test-reporter') ?? 'spec');
  stream.compose(reporter).pipe(process.stdout);
}

/**
 * Costs of files of slow suites, including their part of what this process started for all of them, such as a browser
 * and a platform, by their duration.
 */
function withShared(measures: readonly Measure[], durations: ReadonlyMap<string, number>): readonly Measure[] {
  const isSlow = ({ file }: Measure): boolean => durations.has(file) && rungOf(file) !== 'quick';
  if (!measures.every(isSlow)) return measures;
  const all = measures.reduce((sum, { file }) => sum + durations.get(file)!, 0);
  const shared = usedSeconds() - measures.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  return measures.map(({ file, cpuSeconds }) => ({
    file,
    cpuSeconds: cpuSeconds + (shared * durations.get(file)!) / all,
  }));
}

/** Files in the list. */
function listed(files: readonly string[], list: string): readonly string[] {
  const lines = new Set(readFileSync(list, 'utf8').split('\n'));
  return files.filter((file) => lines.has(file));
}

/** A test process: entry file and test files. */
interface Group {
  readonly entry: string;
  readonly members: readonly string[];
}

/** Writes an entry module for each group; most expensive process first. */
function writeGroups(files: readonly string[], cost: (file: string) => number): readonly Group[] {
  const folder = `node_modules/.cache/test-groups/${process.pid}`;
  rmSync(path.join(root, folder), { recursive: true, force: true });
  const sum = (members: readonly string[]): number => members.reduce((all, file) => all + cost(file), 0);
  const groups = groupsOf(files, cost).toSorted((a, b) => sum(b) - sum(a));
  process.once('exit', () => rmSync(path.join(root, folder), { recursive: true, force: true }));
  return groups.map((members, at) => {
    if (members.length === 1) return { entry: members[0]!, members };
    const entry = `${folder}/group-${at}.test.mjs`;
    mkdirSync(path.join(root, folder), { recursive: true });
    const shared = new URL('shared-process.ts', import.meta.url).href;
    const text = `import { runTogether } from ${JSON.stringify(shared)};\nrunTogether(${JSON.stringify(members)});\n`;
    writeFileSync(path.join(root, entry), text);
    return { entry, members };
  });
}

/** Prints the most expensive files, and quick-rung files over the limit. */
function dearest(measures: readonly Measure[]): string {
  const files = measures.filter(({ file }) => file.startsWith('test/')).toSorted((a, b) => b.cpuSeconds - a.cpuSeconds);
  const row = ({ file, cpuSeconds }: Measure): string => `${cpuSeconds.toFixed(1).padStart(7)}  ${file}\n`;
  const over = files.filter(
    ({ file, cpuSeconds }) =>
      rungOf(file) === 'quick' && cpuSeconds > FILE_CPU_SECONDS_MAX && dearFiles[file] === undefined,
  );
  return [
    '\nCPU seconds of the dearest files\n',
    ...files.slice(0, DEAREST_SHOWN).map(row),
    over.length === 0
      ? `No file of the quick rung took more than ${FILE_CPU_SECONDS_MAX} s outside of the list in test/suites.ts\n`
      : `Files of the quick rung over ${FILE_CPU_SECONDS_MAX} s: ${over.map(({ file }) => file).join(', ')}\n`,
  ].join('');
}

/** A reporter of Node, or a custom module. */
async function loadReporter(name: string): Promise<any> {
  if (name === 'spec') return new reporters.spec();
  const own = (reporters as Readonly<Record<string, unknown>>)[name];
  return own ?? ((await import(pathToFileURL(path.resolve(name)).href)) as { default: unknown }).default;
}
