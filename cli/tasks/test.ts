// `npm test`: every test file through node:test with the flags of the product. Words after it pick files by a part of
// their path; words that begin with `--` go to node. Hostile tests run after the others, one at a time: they starve the
// machine. Those that only send bytes do not.
import { globSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from './processes.ts';
import { recordTime } from './times.ts';

/** One Postgres for the whole run, where a file wants it. */
const setup = '--test-global-setup=test/setup/global.ts';
/**
 * No test waits for ever. Not `--test-force-exit`: a file that is made to exit loses what it had not said yet of its
 * tests.
 */
const ends = '--test-timeout=180000';

/** Too heavy for every run: `npm run test:e2e` runs it. */
export const walks = 'test/e2e/first-project.test.ts';

export async function run(words: readonly string[]): Promise<number> {
  const options = words.filter((word) => word.startsWith('--'));
  const parts = words.filter((word) => !word.startsWith('--'));
  const all = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/fixtures/**', '**/node_modules/**'] }).sort();
  const files =
    parts.length === 0
      ? all.filter((file) => file !== walks)
      : all.filter((file) => parts.some((part) => file.includes(part)));
  if (files.length === 0) {
    process.stderr.write(`No test file has ${parts.map((part) => `"${part}"`).join(' or ')} in its path\n`);
    return 2;
  }
  const hostile = files.filter((file) => /^test\/hostile\/(?!fuzz-)/.test(file));
  const others = files.filter((file) => !hostile.includes(file));
  // Node keeps what it compiled, types already erased, for the hundreds of processes of this run: 40% of the CPU of a
  // test that starts a platform was spent on doing so again. It is emptied first: programs in temporary folders leave
  // theirs behind.
  const compiled = path.join(root, 'node_modules/.compiled');
  await rm(compiled, { recursive: true, force: true, maxRetries: 5 });
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled };
  let code = 0;
  for (const [batch, concurrency] of [[others, 2] as const, [hostile, 1] as const]) {
    if (batch.length === 0) continue;
    const args = [
      ...nodeFlags,
      '--test',
      `--test-concurrency=${concurrency}`,
      '--test-reporter=spec',
      ends,
      setup,
      ...options,
      ...batch,
    ];
    const ended = await runProgram(process.execPath, args, { show: true, env });
    code ||= ended.code;
  }
  if (parts.length === 0 && code === 0) recordTime('npm test', performance.now());
  return code;
}
