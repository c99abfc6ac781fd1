// `platform machines token`: creates a token with which one machine can join. Runs on a machine of the installation.
import path from 'node:path';
import { defineCommand } from 'citty';
import { makeMachineToken } from '#operations/machines/token.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print } from '../../terminal/table.ts';
import { readVariables } from '../../secrets/variables-file.ts';

export const command = defineCommand({
  meta: {
    name: 'token',
    description: 'Create a token for one new machine; run it on a machine of the installation',
  },
  args: {
    file: {
      type: 'string',
      valueHint: 'path',
      description: 'File with the variables of this machine (default: the environment)',
    },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const environment = {
      ...(args.file === undefined ? {} : readVariables(path.resolve(shell.cwd, args.file))),
      ...shell.env,
    };
    const made = await makeMachineToken(environment).catch((error: Error) => {
      throw new CliError(error.message, {
        advice: 'Run it on a machine of the installation; --file names its variables.',
      });
    });
    const { token, variables } = made;
    const expiresAt = made.expiresAt.toISOString();
    print(shell, args.json, { token, expiresAt, variables }, () => {
      shell.out(token);
      shell.err(`The token is valid for one machine until ${formatTime(expiresAt)}. It brings ${variables.join(', ')}`);
      shell.err(
        'On that machine, run `DATABASE_URL=... platform join --name m2 --address 10.0.0.2`, and enter the token',
      );
    });
  },
});
