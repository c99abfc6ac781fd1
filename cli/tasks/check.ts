// `npm run check`: types, lint, format and the tidy test, in parallel; one line a step, the output of the failed ones
// below.
// `npm run check -- --figures [folder]` prints the figures of a checkout instead (figures.ts).
import path from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram, type Ended } from './processes.ts';
import { recordTime } from './times.ts';

interface Step {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
}

/** A tool of the development dependencies; `.bin` holds links, which need no install script. */
function tool(name: string): string {
  return path.join(root, 'node_modules/.bin', name);
}

const steps: readonly Step[] = [
  { name: 'types', program: tool('tsc'), args: ['-p', 'tsconfig.json'] },
  { name: 'types of the guest', program: tool('tsc'), args: ['-p', 'runtime/engine/guest/tsconfig.json'] },
  { name: 'types of packages/worker', program: tool('tsc'), args: ['-p', 'packages/worker/tsconfig.json'] },
  { name: 'types of packages/dev', program: tool('tsc'), args: ['-p', 'packages/dev/tsconfig.json'] },
  { name: 'types of packages/agent', program: tool('tsc'), args: ['-p', 'packages/agent/tsconfig.json'] },
  { name: 'types of examples/guest-book', program: tool('tsc'), args: ['-p', 'examples/guest-book/tsconfig.json'] },
  { name: 'types of examples/chat', program: tool('tsc'), args: ['-p', 'examples/chat/tsconfig.json'] },
  { name: 'types of examples/coder', program: tool('tsc'), args: ['-p', 'examples/coder/tsconfig.json'] },
  { name: 'types of the dashboard', program: tool('tsc'), args: ['-p', 'dashboard/tsconfig.json'] },
  { name: 'lint', program: tool('oxlint'), args: ['--deny-warnings'] },
  { name: 'format', program: tool('oxfmt'), args: ['--check'] },
  {
    name: 'tidy',
    program: process.execPath,
    args: [...nodeFlags, '--test', '--test-reporter=dot', 'test/tidy.test.ts'],
  },
  {
    name: "types in users' projects",
    program: process.execPath,
    args: [...nodeFlags, '--test', '--test-reporter=dot', 'test/types/*.test.ts'],
  },
];

export async function run(words: readonly string[]): Promise<number> {
  if (words.includes('--figures')) return (await import('./figures.ts')).run(words);
  const ended = await Promise.all(
    steps.map(async (step) => {
      const result = await runProgram(step.program, step.args);
      process.stdout.write(
        `${result.code === 0 ? 'ok    ' : 'FAILED'} ${step.name} (${(result.wallMs / 1000).toFixed(1)} s)\n`,
      );
      return [step, result] as const;
    }),
  );
  const failed = ended.filter(([, result]) => result.code !== 0);
  for (const [step, result] of failed) process.stdout.write(report(step, result));
  const wallMs = performance.now();
  process.stdout.write(`${(wallMs / 1000).toFixed(1)} s in all\n`);
  if (failed.length === 0) recordTime('npm run check', wallMs);
  return failed.length === 0 ? 0 : 1;
}

function report(step: Step, result: Ended): string {
  return `\n--- ${step.name} ---\n${result.output.trimEnd()}\n`;
}
