// `npm test -- hostile`: every attack of test/hostile/attacks on a platform of its own, as a table. Words pick attacks
// by a part of their name or kind; `--jobs=N` runs N at a time (2).
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  return (
    await runProgram(process.execPath, [...nodeFlags, 'test/hostile/main.ts', ...words], { cwd: root, show: true })
  ).code;
}
