// `platform completion bash|zsh|fish`: prints a completion script generated from the command tree. The script asks for
// paths of `platform api` when needed.
import { defineCommand } from 'citty';
import { knownPaths } from '../api/known-paths.ts';
import { completionNodes, scripts } from '../terminal/completion.ts';
import { CliError } from '../terminal/failure.ts';
import { ownLines } from '../terminal/printed.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'completion', description: 'Print a shell completion script' },
  args: {
    shell: { type: 'positional', required: true, description: 'bash, zsh or fish' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    // The completion scripts run this to get the paths of the API.
    if (args.shell === 'paths') return shell.out(ownLines(knownPaths(shell).join('\n')));
    if (!Object.hasOwn(scripts, args.shell))
      throw new CliError(`No completion for "${args.shell}"`, {
        exitCode: 2,
        advice: 'Supported shells: bash, zsh and fish.',
      });
    const { commands } = await import('./tree.ts');
    shell.out(ownLines(scripts[args.shell as keyof typeof scripts](await completionNodes(commands))));
  },
});
