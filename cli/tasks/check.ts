// `npm run check`: checks types, lint, format and the tidy test in parallel. Prints a line for each step, and the
// output of failed steps. `npm run check -- --figures [folder]` prints the figures of a checkout instead (figures.ts),
// `--sentences` sentences to judge (sentences.ts).
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { compilerPath } from './tools/compiler.ts';
import { writeEnvironmentFile } from './tools/environment-files.ts';
import { root, runProgram, type Ended } from './tools/processes.ts';
import { recordTime } from './times.ts';

interface Step {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
}

const TYPED_EXAMPLES = ['examples/guest-book', 'examples/chat', 'examples/coder', 'examples/documents'];

/** A tool of the development dependencies; `.bin` holds links, which need no install script. */
function tool(name: string): string {
  return path.join(root, 'node_modules/.bin', name);
}

/** Test files in one process. */
function tests(name: string, files: string): Step {
  const args = [...nodeFlags, '--test', '--test-isolation=none', '--test-reporter=dot', files];
  return { name, program: process.execPath, args };
}

/**
 * All steps, the most expensive first: the short ones then use the processors that are left at the end.
 *
 * @param compiler the program `tsc`.
 * @param processors number of processors to use. Each checker of the compiler repeats work of the others. Two steps run
 * at a time, so half the processors are enough, and one for a small project.
 */
function stepsOf(compiler: string, processors: number): readonly Step[] {
  const checkers = String(Math.min(4, Math.max(1, processors >> 1)));
  const types = (name: string, folder: string, words: readonly string[] = ['--singleThreaded']): Step => ({
    name: `types${name}`,
    program: compiler,
    args: ['-p', folder, ...words],
  });
  // Checks only files that are affected by changes since the last run: 8 s of CPU instead of 24 for the whole
  // repository.
  const incremental = (folder: string): readonly string[] => [
    '--checkers',
    checkers,
    '--incremental',
    '--tsBuildInfoFile',
    path.join(root, 'node_modules/.cache', `types-${folder}.tsbuildinfo`),
  ];
  return [
    types('', '.', incremental('all')),
    types(' of the dashboard', 'dashboard', incremental('dashboard')),
    tests("types in users' projects", 'test/types/*.test.ts'),
    tests('tidy', 'test/tidy.test.ts'),
    { name: 'format', program: tool('oxfmt'), args: ['--check'] },
    { name: 'lint', program: tool('oxlint'), args: ['--deny-warnings'] },
    types(' of the guest', 'runtime/engine/guest'),
    types(' of packages/worker', 'packages/worker'),
    types(' of packages/agent', 'packages/agent'),
    types(' of packages/dev', 'packages/dev'),
    ...TYPED_EXAMPLES.map((folder) => types(` of ${folder}`, folder)),
  ];
}

export async function run(words: readonly string[]): Promise<number> {
  if (words.includes('--figures')) return (await import('./figures.ts')).run(words);
  if (words.includes('--sentences')) return (await import('./sentences.ts')).run(words);
  if (words[0] !== undefined) {
    process.stderr.write(`npm run check: there is no ${words[0]}; there are --figures and --sentences\n`);
    return 2;
  }
  for (const folder of TYPED_EXAMPLES) writeEnvironmentFile(path.join(root, folder));
  const processors = availableParallelism();
  const left = [...stepsOf(await compilerPath(), processors)];
  const failures: string[] = [];
  // Runs as many steps at a time as there are processors: more steps would only use more memory.
  const work = async (): Promise<void> => {
    for (let step = left.shift(); step !== undefined; step = left.shift()) {
      const result = await runProgram(step.program, step.args);
      process.stdout.write(
        `${result.code === 0 ? 'ok    ' : 'FAILED'} ${step.name} (${(result.wallMs / 1000).toFixed(1)} s)\n`,
      );
      if (result.code !== 0) failures.push(report(step, result));
    }
  };
  await Promise.all(Array.from({ length: processors }, work));
  process.stdout.write(failures.join(''));
  const wallMs = performance.now();
  process.stdout.write(`${(wallMs / 1000).toFixed(1)} s in all\n`);
  if (failures.length === 0) recordTime('npm run check', wallMs);
  return failures.length === 0 ? 0 : 1;
}

function report(step: Step, result: Ended): string {
  return `\n--- ${step.name} ---\n${result.output.trimEnd()}\n`;
}
