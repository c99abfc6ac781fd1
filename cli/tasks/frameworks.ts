// `npm run test:frameworks`: the table of frameworks (test/frameworks/main.ts) in a process with the flags of the
// product. It installs from the registry, so it is no part of `npm test`. Words pick apps; `--today` three of them.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from './processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  const args = [...nodeFlags, 'test/frameworks/main.ts', ...words];
  return (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
}
