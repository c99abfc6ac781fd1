// `npm test -- sandbox`: tests sandboxes on separate container engines (test/sandbox/all.ts): the contract of backends,
// attacks from inside, and that nothing is left behind. The suite requires root and Debian's container engines, so it
// is not part of `npm test`.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  const args = [...nodeFlags, 'test/sandbox/all.ts', ...words];
  return (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
}
