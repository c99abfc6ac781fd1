// `npm test -- sandbox`: sandboxes over engines of their own (test/sandbox/all.ts): the contract of backends,
// attacks from inside, and what is left behind. It needs root and Debian's engines, so it is no part of `npm test`.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  const args = [...nodeFlags, 'test/sandbox/all.ts', ...words];
  return (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
}
