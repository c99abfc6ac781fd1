// `npm run test:upgrade`: from the packed program of an earlier commit to this one and back, and upgrades and restores
// that are killed (test/upgrade/); a number asks for other rounds of kill -9 than ten. It installs from the registry,
// so it is no part of `npm test`.
import { root, runProgram } from './processes.ts';
import { nodeFlags } from '#core/node-flags.mjs';

/** The end of the issue before the one that brought `platform upgrade`; test/upgrade/ packs it. */
export const COMMIT_BEFORE = 'd7990f9';

export async function run(words: readonly string[]): Promise<number> {
  const found = await runProgram('git', ['cat-file', '-e', `${COMMIT_BEFORE}^{commit}`], { cwd: root });
  const files = ['test/upgrade/kill-9.test.ts'];
  if (found.code === 0) files.unshift('test/upgrade/upgrade.test.ts');
  else
    process.stdout.write(
      `The upgrade from it is not tested: commit ${COMMIT_BEFORE} is not in this clone (git fetch --unshallow)\n`,
    );
  const args = [
    ...nodeFlags,
    '--test',
    '--test-reporter=spec',
    '--test-concurrency=1',
    '--test-timeout=1800000',
    ...files,
  ];
  const env = { ...process.env, UPGRADE_KILL_ROUNDS: words[0] ?? '10' };
  return (await runProgram(process.execPath, args, { cwd: root, show: true, env })).code;
}
