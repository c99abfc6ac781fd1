// Runs test files with node:test in processes with the flags of the product: the quick rung and the suites use it.
import { existsSync, globSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { rungOf } from '#test/suites.ts';
import { root, runProgram } from '../tools/processes.ts';
import { refuses } from './words.ts';

/** Test files often wait for I/O or timers: three processes keep two cores busy. */
const QUICK_JOBS = Math.ceil(availableParallelism() * 1.5);
/** In-memory file system of Linux. */
const MEMORY_FOLDER = '/dev/shm';
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;

/** Every test file of the checkout, in the order of the alphabet. */
export function allTestFiles(): readonly string[] {
  return globSync('test/**/*.test.ts', {
    cwd: root,
    exclude: ['test/fixtures/**', 'test/frameworks/apps/**', '**/node_modules/**'],
  }).sort();
}

/** Files matching words: by exact name, else by part of the path. */
export function pickFiles(files: readonly string[], words: readonly string[]): readonly string[] {
  if (words.length === 0) return files;
  const isNamed = (file: string, word: string): boolean => path.basename(file, '.test.ts') === word;
  const exact = words.filter((word) => files.some((file) => isNamed(file, word)));
  return files.filter((file) =>
    words.some((word) => (exact.includes(word) ? isNamed(file, word) : file.includes(word))),
  );
}

/** Refuses words by which {@link pickFiles} finds no file of a suite. */
export function refusesFiles(suite: string, words: readonly string[], files: readonly string[]): boolean {
  return refuses(`npm test -- ${suite}`, words, (word) => pickFiles(files, [word]).length > 0, files);
}

/**
 * Runs files; those in test/hostile/ after the others, since they starve the machine, unless they only send bytes.
 *
 * @param options words for node:test (`--test-name-pattern=...`) and for run-files.ts.
 * @param inside a program and its words that start node, for example in namespaces of its own.
 * @returns the exit code.
 */
export async function runTestFiles(
  files: readonly string[],
  options: readonly string[],
  inside: readonly string[] = [],
): Promise<number> {
  const hostile = files.filter((file) => /^test\/hostile\/(?!fuzz-)/.test(file));
  const others = files.filter((file) => !hostile.includes(file));
  // Node keeps what it compiled, types already erased, for the hundreds of processes of this run: 40% of the CPU of a
  // test that starts a platform was spent on doing so again. Its own folder is emptied first: programs in temporary
  // folders leave theirs behind.
  const compiled = path.join(root, 'node_modules/.compiled');
  if (process.env['NODE_COMPILE_CACHE'] === undefined) {
    await rm(compiled, { recursive: true, force: true, maxRetries: 5 });
    process.env['NODE_COMPILE_CACHE'] = compiled;
  }
  const runner = path.join(root, 'cli/tasks/suites/run-files.ts');
  const forNode = options.filter((option) => !/^--(?:test-(?:reporter|concurrency)=|always$)/.test(option));
  const forRunner = options.filter((option) => !forNode.includes(option));
  const temporary = files.every((file) => rungOf(file) === 'quick') ? temporaryFolder() : null;
  const env = temporary === null ? process.env : { ...process.env, TMPDIR: temporary };
  let code = 0;
  for (const [batch, many] of [[others, QUICK_JOBS] as const, [hostile, 2] as const]) {
    if (batch.length === 0) continue;
    const args = [...nodeFlags, ...forNode, runner, `--test-concurrency=${many}`, ...forRunner, ...batch];
    const [program, ...words] = [...inside, process.execPath, ...args] as [string, ...string[]];
    const ended = await runProgram(program, words, { show: true, env });
    code ||= ended.code;
  }
  if (temporary !== null) await rm(temporary, { recursive: true, force: true, maxRetries: 5 });
  return code;
}

/**
 * A folder in memory for what tests write, where the machine has one with room and TMPDIR names no other: making and
 * removing small files takes a fifth there. Null: the system's own, which slow suites always have, since they link to
 * the checkout and mount what they write.
 */
function temporaryFolder(): string | null {
  if (process.env['TMPDIR'] !== undefined) return null;
  try {
    // Leftovers of killed runs.
    for (const name of globSync('tests-*', { cwd: MEMORY_FOLDER }))
      if (!existsSync(`/proc/${name.slice('tests-'.length)}`))
        rmSync(path.join(MEMORY_FOLDER, name), { recursive: true, force: true });
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    if (bavail * bsize < MEMORY_BYTES_MIN) return null;
    // Paths of sockets are short.
    const folder = path.join(MEMORY_FOLDER, `tests-${process.pid}`);
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch {
    return null;
  }
}
