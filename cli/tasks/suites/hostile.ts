// `npm test -- hostile`: runs every attack of test/hostile/attacks on a separate platform, and prints a table. Words
// select attacks by a part of their name or kind; `--jobs=N` runs N attacks at a time (2).
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  return (
    await runProgram(process.execPath, [...nodeFlags, 'test/hostile/main.ts', ...words], { cwd: root, show: true })
  ).code;
}
