// Runs test files with node:test, the longest first: how long each took last time is in node_modules/.cache, and where
// that is not known folder and size decide. Started by test.ts: `--test-concurrency=N`, `--test-reporter=NAME`,
// `--group-units`, `--always`, files. TEST_FAILURES names a file to which it adds those that failed, a line each;
// TEST_ONLY names such a file: of the given ones those alone run, unless it is `--always`.
import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as reporters from 'node:test/reporters';
import { root } from './processes.ts';

/** No test waits for ever. Not a forced exit: a file that is made to exit loses what it had not said of its tests. */
const TIMEOUT_MS = 180_000;
const place = path.join(root, 'node_modules/.cache/test-durations.json');

/** Unit tests that look at the state of their process: what is loaded, and what all isolates of it share. */
const OWN_PROCESS = ['test/unit/runtime/engine/bindings/fetch-agent.test.ts', 'test/unit/runtime/engine/isolates/'];

type Durations = Readonly<Record<string, number>>;

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<void> {
  const option = (name: string): string | undefined =>
    words.findLast((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  const known = readDurations();
  const took: Record<string, number> = {};
  const chosen = words.filter((word) => !word.startsWith('--'));
  const { TEST_ONLY: only, TEST_FAILURES: failures } = process.env;
  // Of this run, not of the runs that tests start.
  for (const name of ['TEST_ONLY', 'TEST_FAILURES']) delete process.env[name];
  const given = words.includes('--group-units') ? grouped(chosen) : chosen;
  const files = only === undefined || words.includes('--always') ? given : listed(given, only);
  if (files.length === 0) return;
  const failed = new Set<string>();
  const stream = run({
    files: longestFirst(files, known, (file) => statSync(path.join(root, file)).size).map((file) =>
      path.join(root, file),
    ),
    cwd: root,
    concurrency: Number(option('test-concurrency') ?? 1),
    timeout: TIMEOUT_MS,
    // One Postgres for the whole run, where a file wants it. The types do not know it yet.
    ...({ globalSetupPath: path.join(root, 'test/setup/global.ts') } as object),
  });
  stream.on('test:summary', ({ file, success, duration_ms: ms }) => {
    if (file === undefined) {
      if (!success) process.exitCode = 1;
      return;
    }
    took[path.relative(root, file)] = Math.round(ms);
    if (!success) failed.add(path.relative(root, file));
  });
  // A file whose process ended badly is one that failed, by its path.
  stream.on('test:fail', ({ name, file }) => {
    if (name === file) failed.add(path.relative(root, file));
  });
  stream.once('end', () => {
    writeDurations({ ...known, ...took });
    if (failures !== undefined) appendFileSync(failures, [...failed, ''].join('\n'));
  });
  const reporter = await loadReporter(option('test-reporter') ?? 'spec');
  stream.compose(reporter).pipe(process.stdout);
}

/** Those of the files that have a line in the list. */
function listed(files: readonly string[], list: string): readonly string[] {
  const lines = new Set(readFileSync(list, 'utf8').split('\n'));
  return files.filter((file) => lines.has(file));
}

/**
 * The files with unit tests put together, a process for those of a top-level folder each: starting a process for each
 * file takes twice the CPU of all the tests in them. Each is written to node_modules/.cache and imports its tests.
 */
function grouped(files: readonly string[]): readonly string[] {
  const isShared = (file: string): boolean =>
    file.startsWith('test/unit/') && !OWN_PROCESS.some((prefix) => file.startsWith(prefix));
  const groups = Object.groupBy(files.filter(isShared), (file) => file.split('/')[2]!);
  const written = Object.entries(groups).map(([name, members]) => {
    const group = `node_modules/.cache/unit-tests/${name}.test.mjs`;
    mkdirSync(path.join(root, path.dirname(group)), { recursive: true });
    const imports = members!.map((file) => `import ${JSON.stringify(pathToFileURL(path.join(root, file)).href)};\n`);
    writeFileSync(path.join(root, group), imports.join(''));
    return group;
  });
  return [...files.filter((file) => !isShared(file)), ...written];
}

/** Test files in the order in which they are best started. */
export function longestFirst(
  files: readonly string[],
  durations: Durations,
  sizeOf: (file: string) => number,
): readonly string[] {
  const estimates = new Map(files.map((file) => [file, durations[file] ?? guessMs(file, sizeOf(file))]));
  return files.toSorted((a, b) => estimates.get(b)! - estimates.get(a)!);
}

/** Files that start processes take seconds, others a fraction of one. */
function guessMs(file: string, size: number): number {
  if (file.startsWith('node_modules/')) return 20_000;
  const base = file.startsWith('test/unit/') ? 0 : file.startsWith('test/contract/') ? 2000 : 4000;
  return base + size / 10;
}

function readDurations(): Durations {
  try {
    return JSON.parse(readFileSync(place, 'utf8')) as Durations;
  } catch {
    // None yet, or of no use: the order alone depends on them.
    return {};
  }
}

function writeDurations(durations: Durations): void {
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(`${place}.${process.pid}`, JSON.stringify(durations, null, 1));
  renameSync(`${place}.${process.pid}`, place);
}

/** One of Node's, or a module of one's own. */
async function loadReporter(name: string): Promise<any> {
  if (name === 'spec') return new reporters.spec();
  const own = (reporters as Readonly<Record<string, unknown>>)[name];
  return own ?? ((await import(pathToFileURL(path.resolve(name)).href)) as { default: unknown }).default;
}
