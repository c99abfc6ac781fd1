// `npm test -- compose`: the container images and the compose files, on an engine of their own (test/compose/all.ts),
// and what a new user does by pushing, against them. It builds images for minutes, so it is no part of `npm test`.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  const args = [...nodeFlags, 'test/compose/all.ts', ...words];
  return (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
}
