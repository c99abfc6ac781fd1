// `npm test`: every test file but those that other commands run, with the flags of the product. Words after it pick
// files by a part of their path; words that begin with `--` go to node:test. Hostile tests run after the others, since
// they starve the machine. Those that only send bytes do not.
import { existsSync, globSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from './processes.ts';
import { recordTime } from './times.ts';

/** Folders of tests that another command runs. */
export const elsewhere: Readonly<Record<string, string>> = {
  'test/e2e/': 'npm run test:e2e',
  'test/browser/': 'npm run test:browser',
  'test/edge/': 'npm run test:edge',
  'test/durability/': 'npm run test:durability',
  'test/compose/': 'npm run test:compose',
  'test/sandbox/': 'npm run test:sandbox',
  'test/upgrade/': 'npm run test:upgrade',
  'test/frameworks/': 'npm run test:frameworks',
  'test/hostile/builds/': 'npm test -- hostile/builds',
  'test/types/': 'npm run check',
};
const isElsewhere = (file: string): boolean => Object.keys(elsewhere).some((folder) => file.startsWith(folder));
/** Many files wait for processes, sockets or timers: three for two cores keep both busy. */
const concurrency = Math.ceil(availableParallelism() * 1.5);
/** A file system in memory that Linux has. */
const MEMORY_FOLDER = '/dev/shm';
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;

export async function run(words: readonly string[]): Promise<number> {
  const options = words.filter((word) => word.startsWith('--'));
  const parts = words.filter((word) => !word.startsWith('--'));
  const all = globSync('test/**/*.test.ts', {
    cwd: root,
    exclude: ['test/fixtures/**', 'test/frameworks/apps/**', '**/node_modules/**'],
  }).sort();
  const files =
    parts.length === 0
      ? all.filter((file) => !isElsewhere(file))
      : all.filter((file) => parts.some((part) => file.includes(part)));
  if (files.length === 0) {
    process.stderr.write(`No test file has ${parts.map((part) => `"${part}"`).join(' or ')} in its path\n`);
    return 2;
  }
  if (parts.length === 0) {
    const others = Object.entries(elsewhere).map(([folder, command]) => `${folder} by ${command}`);
    process.stdout.write(`Run elsewhere: ${others.join(', ')}, all attacks by npm run test:hostile\n`);
  }
  const code = await runTestFiles(files, parts.length === 0 ? [...options, '--group-units'] : options);
  if (parts.length === 0 && code === 0 && process.env['TEST_ONLY'] === undefined)
    recordTime('npm test', performance.now());
  return code;
}

/** Runs files, hostile ones last. */
export async function runTestFiles(files: readonly string[], options: readonly string[]): Promise<number> {
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
  const runner = path.join(root, 'cli/tasks/run-tests.ts');
  const forNode = options.filter(
    (option) => !/^--(?:test-(?:reporter|concurrency)=|group-units$|always$)/.test(option),
  );
  const forRunner = options.filter((option) => !forNode.includes(option));
  const temporary = files.some(isElsewhere) ? null : temporaryFolder();
  const env = temporary === null ? process.env : { ...process.env, TMPDIR: temporary };
  let code = 0;
  for (const [batch, many] of [[others, concurrency] as const, [hostile, 2] as const]) {
    if (batch.length === 0) continue;
    const args = [...nodeFlags, ...forNode, runner, `--test-concurrency=${many}`, ...forRunner, ...batch];
    const ended = await runProgram(process.execPath, args, { show: true, env });
    code ||= ended.code;
  }
  if (temporary !== null) await rm(temporary, { recursive: true, force: true, maxRetries: 5 });
  return code;
}

/**
 * A folder in memory for what tests write, where the machine has one with room and TMPDIR names no other: making and
 * removing small files takes a fifth there. Null: the system's own, which tests of other commands always have, since
 * they link to the checkout and mount what they write.
 */
function temporaryFolder(): string | null {
  if (process.env['TMPDIR'] !== undefined) return null;
  try {
    // Of runs that were killed.
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
