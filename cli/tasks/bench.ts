// `npm run bench`: runs the scenarios of bench/ (`bench/<scenario>.bench.ts`), one after the other, each in a separate
// process. Words select scenarios by a part of their name; `-- --save` writes their output to
// bench/results/<scenario>.md. The first run installs the programs to compare with. Not packed.
import { existsSync, globSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { describeCommit, describeMachine, describeTime } from './tools/machine.ts';
import { root, runProgram } from './tools/processes.ts';

/** Output of a scenario, with its circumstances. */
interface Result {
  readonly name: string;
  /** The command, with the variables that were set. */
  readonly command: string;
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  /** Load average before the run. */
  readonly load: number;
  readonly output: string;
}

export async function run(options: readonly string[]): Promise<number> {
  const save = options.includes('--save');
  const words = options.filter((word) => word !== '--save');
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
  process.stdout.write(`${describeMachine()}, ${describeTime()}\n`);
  let code = 0;
  for (const file of files) {
    const name = path.basename(file, '.bench.ts');
    process.stdout.write(`\n${name}\n`);
    const load = loadavg()[0]!;
    const ended = await runProgram(process.execPath, [...nodeFlags, file], { show: true, keep: save });
    code ||= ended.code;
    if (!save || ended.code !== 0) continue;
    const made = { date: describeTime(), commit: describeCommit(root), machine: describeMachine(), load };
    const text = formatResult({ name, command: commandOf(name, process.env), ...made, output: ended.output });
    writeFileSync(path.join(bench, `results/${name}.md`), text);
  }
  return code;
}

/** The command that reproduces a run, with its variables. */
export function commandOf(name: string, environment: NodeJS.ProcessEnv): string {
  const variables = Object.keys(environment)
    .filter((variable) => variable.startsWith('BENCH_'))
    .sort();
  return [...variables.map((variable) => `${variable}=${environment[variable]}`), 'npm run bench', name].join(' ');
}

/** Path of a result file. */
export function formatResult({ name, command, date, commit, machine, load, output }: Result): string {
  return `# \`${name}\`

Written by \`${command} -- --save\`.

- Date: ${date}
- Commit: ${commit}
- Machine: ${machine}
- Load average before it began: ${load.toFixed(1)}

\`\`\`
${output.replace(/^\n+|\s+$/g, '')}
\`\`\`
`;
}
