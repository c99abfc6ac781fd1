// `npm test -- upgrade`: tests upgrades from the packed program of an earlier commit to this one and back, and kills
// upgrades and restores (test/upgrade/). The suite installs from the registry.
import { globSync } from 'node:fs';
import { root, runProgram } from '../tools/processes.ts';
import { pickFiles, refusesFiles, runTestFiles } from './test-files.ts';

/** The last commit before `platform upgrade` was added, which test/upgrade/ packs. */
export const COMMIT_BEFORE = 'd7990f9';

/** @param words the files to run; all if there are none. */
export async function run(words: readonly string[]): Promise<number> {
  const all = globSync('test/upgrade/*.test.ts', { cwd: root }).sort();
  if (refusesFiles('upgrade', words, all)) return 2;
  const { code } = await runProgram('git', ['cat-file', '-e', `${COMMIT_BEFORE}^{commit}`], { cwd: root });
  if (code !== 0) {
    process.stderr.write(`The suite upgrade needs commit ${COMMIT_BEFORE}: git fetch --unshallow\n`);
    return 1;
  }
  return runTestFiles(pickFiles(all, words), ['--test-concurrency=1']);
}
