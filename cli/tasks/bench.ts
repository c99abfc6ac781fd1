// `npm run bench`: the scenarios of bench/ (`bench/<scenario>.bench.ts`), one after the other, each in a process of its
// own. Words after it pick scenarios by a part of their name. What they measure against is installed on the first run.
import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from './processes.ts';

export async function run(words: readonly string[]): Promise<number> {
  const all = globSync('bench/*.bench.ts', { cwd: root }).sort();
  const files =
    words.length === 0 ? all : all.filter((file) => words.some((word) => path.basename(file).includes(word)));
  if (files.length === 0) {
    process.stderr.write(
      `There is no scenario${words.length === 0 ? '' : ` with ${words.join(' or ')} in its name`}; there are: ${all.join(', ') || 'none'}\n`,
    );
    return 2;
  }
  const bench = path.join(root, 'bench');
  if (existsSync(path.join(bench, 'package.json')) && !existsSync(path.join(bench, 'node_modules'))) {
    const installed = await runProgram('npm', ['ci'], { cwd: bench, show: true });
    if (installed.code !== 0) return installed.code;
  }
  let code = 0;
  for (const file of files) {
    process.stdout.write(`\n${path.basename(file, '.bench.ts')}\n`);
    code ||= (await runProgram(process.execPath, [...nodeFlags, file], { show: true })).code;
  }
  return code;
}
