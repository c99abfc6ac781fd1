// `npm test -- frameworks`: runs the table of frameworks (test/frameworks/main.ts) in a process with the flags of the
// product. The suite installs from the registry. Words select apps; `rows` is the whole table, of which
// FRAMEWORK_ROWS=today selects three; `--skew` tests pages of two frameworks that stay open during a deployment.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';
import { runTestFiles } from './test-files.ts';

export async function run(words: readonly string[]): Promise<number> {
  const apps = words.filter((word) => !['rows', '--skew'].includes(word));
  let code = 0;
  if (words.length === 0 || words.includes('rows') || apps.length > 0) {
    const chosen = process.env['FRAMEWORK_ROWS'] === 'today' ? ['--today'] : apps;
    const args = [...nodeFlags, 'test/frameworks/main.ts', ...chosen];
    code = (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
  }
  if (words.length === 0 || words.includes('--skew'))
    code = (await runTestFiles(['test/frameworks/skew-protection.test.ts'], [])) || code;
  return code;
}
