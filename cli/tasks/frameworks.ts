// `npm run test:frameworks`: the table of frameworks (test/frameworks/main.ts) in a process with the flags of the
// product. It installs from the registry, so it is no part of `npm test`. Words pick apps; `--today` three of them;
// `--skew` is no table, but pages of two frameworks that are left open across a deployment.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from './processes.ts';
import { runTestFiles } from './test.ts';

export async function run(words: readonly string[]): Promise<number> {
  if (words[0] === '--skew') return runTestFiles(['test/frameworks/skew-protection.test.ts'], words.slice(1));
  const args = [...nodeFlags, 'test/frameworks/main.ts', ...words];
  return (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
}
