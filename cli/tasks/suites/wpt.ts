// `npm test -- wpt`: runs the Web Platform Tests (test/wpt/main.ts) in a process with the flags of the product. Words
// are passed to that process.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  return (await runProgram(process.execPath, [...nodeFlags, 'test/wpt/main.ts', ...words], { cwd: root, show: true }))
    .code;
}
