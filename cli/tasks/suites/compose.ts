// `npm test -- compose`: tests the container images and the Compose files on a separate engine (test/compose/all.ts),
// and a new user's first push to them. Building the images takes minutes, so the suite is not part of `npm test`.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  const args = [...nodeFlags, 'test/compose/all.ts', ...words];
  return (await runProgram(process.execPath, args, { cwd: root, show: true })).code;
}
