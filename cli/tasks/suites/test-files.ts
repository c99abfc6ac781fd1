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

/** All test files of the checkout, in alphabetical order. */
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
 * Runs test files. Files in test/hostile/ that do more than send bytes run last, because they overload the machine.
 *
 * @param options options of node:test (`--test-name-pattern=...`) and of run-files.ts.
 * @param inside a program with arguments that starts Node, for example in separate namespaces.
 * @returns the exit code.
 */
export async function runTestFiles(
  files: readonly string[],
  options: readonly string[],
  inside: readonly string[] = [],
): Promise<number> {
  const hostile = files.filter((file) => /^test\/hostile\/(?!fuzz-)/.test(file));
  const others = files.filter((file) => !hostile.includes(file));
  // Node caches compiled modules without types for the hundreds of processes of this run: 40% of the CPU of a test that
  // starts a platform was spent on compiling. The folder of the cache is emptied first, because programs in temporary
  // folders leave entries in it.
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
 * A temporary folder in memory for tests, if the machine has one with enough space and TMPDIR is not set: creating and
 * removing small files takes a fifth of the time there. Null means the system's temporary folder, which slow suites
 * always use, since they link to the checkout and mount their files.
 */
function temporaryFolder(): string | null {
  if (process.env['TMPDIR'] !== undefined) return null;
  try {
    // Removes the folders that killed runs have left.
    for (const name of globSync('tests-*', { cwd: MEMORY_FOLDER }))
      if (!existsSync(`/proc/${name.slice('tests-'.length)}`))
        rmSync(path.join(MEMORY_FOLDER, name), { recursive: true, force: true });
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    if (bavail * bsize < MEMORY_BYTES_MIN) return null;
    // The name is short because the length of socket paths is limited.
    const folder = path.join(MEMORY_FOLDER, `tests-${process.pid}`);
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch {
    return null;
  }
}
