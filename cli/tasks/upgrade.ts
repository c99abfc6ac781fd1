// `npm run test:upgrade`: from the packed program of an earlier commit to this one and back (test/upgrade/). It
// installs from the registry, so it is no part of `npm test`.
import { root, runProgram } from './processes.ts';
import { nodeFlags } from '#core/node-flags.mjs';

/** The end of the issue before the one that brought `platform upgrade`; test/upgrade/ packs it. */
export const COMMIT_BEFORE = 'd7990f9';

export async function run(): Promise<number> {
  const found = await runProgram('git', ['cat-file', '-e', `${COMMIT_BEFORE}^{commit}`], { cwd: root });
  if (found.code !== 0) {
    process.stdout.write(
      `The upgrade is not tested: commit ${COMMIT_BEFORE} is not in this clone (git fetch --unshallow)\n`,
    );
    return 0;
  }
  const args = [
    ...nodeFlags,
    '--test',
    '--test-reporter=spec',
    '--test-timeout=900000',
    'test/upgrade/upgrade.test.ts',
  ];
  return (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
}
