// `npm run test:upgrade`: from the packed program of an earlier commit to this one and back (test/upgrade/). It
// installs from the registry, so it is no part of `npm test`.
import { root, runProgram } from './processes.ts';
import { nodeFlags } from '#core/node-flags.mjs';

export async function run(): Promise<number> {
  const args = [
    ...nodeFlags,
    '--test',
    '--test-reporter=spec',
    '--test-timeout=900000',
    'test/upgrade/upgrade.test.ts',
  ];
  return (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
}
