// `platform completion bash|zsh|fish`: a script that completes commands and flags, made from the tree of commands.
// Paths of `platform api` are asked for when they are needed.
import { defineCommand } from 'citty';
import { knownPaths } from '../api/known-paths.ts';
import { completionNodes, scripts } from '../terminal/completion.ts';
import { CliError } from '../terminal/failure.ts';
import { ownLines } from '../terminal/printed.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'completion', description: 'Print what a shell needs to complete commands' },
  args: {
    shell: { type: 'positional', required: true, description: 'bash, zsh or fish' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    // What the scripts themselves ask for.
    if (args.shell === 'paths') return shell.out(ownLines(knownPaths(shell).join('\n')));
    if (!Object.hasOwn(scripts, args.shell))
      throw new CliError(`There is no completion for "${args.shell}"`, {
        exitCode: 2,
        advice: 'There is one for bash, zsh and fish: `platform completion --help`.',
      });
    const { commands } = await import('./tree.ts');
    shell.out(ownLines(scripts[args.shell as keyof typeof scripts](await completionNodes(commands))));
  },
});
