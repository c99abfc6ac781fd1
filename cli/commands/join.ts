// `platform join`: adds this machine to an installation, and writes its variables.
import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import path from 'node:path';
import { defineCommand } from 'citty';
import { joinInstallation } from '#operations/machines/join.ts';
import { programVersion } from '../local/program-version.ts';
import { readVariables, writeVariables } from '../secrets/variables-file.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'join', description: 'Add this machine to an installation, and write its variables' },
  args: {
    name: { type: 'string', required: true, valueHint: 'm2', description: 'Name of this machine' },
    address: {
      type: 'string',
      required: true,
      valueHint: '10.0.0.2',
      description: 'Address of this machine for other machines',
    },
    parts: {
      type: 'string',
      valueHint: 'list',
      description: 'Parts that this machine runs, such as handler (default: handler,mirror)',
    },
    file: {
      type: 'string',
      valueHint: 'path',
      default: 'platform.env',
      description: 'The file of variables; it may have some',
    },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const file = path.resolve(shell.cwd, args.file);
    const kept = existsSync(file) ? readVariables(file) : {};
    const given = (name: string): Record<string, string> => {
      const value = shell.env[name]?.trim() ?? '';
      return value === '' ? {} : { [name]: value };
    };
    const token = await readToken(shell);
    const address = args.address.replace(/^\[(.*)\]$/, '$1');
    const own = {
      // The private port listens on this address only, unless it is a name, which can mean any address.
      HOST: isIP(address) === 0 ? '0.0.0.0' : address,
      HANDLER_HOST: '0.0.0.0',
      // A mirror only starts with ARTIFACTS_S3_*.
      PLATFORM_PARTS: 'handler,mirror',
      ...kept,
      ...given('DATABASE_URL'),
      ...given('FS_PATH'),
      ...given('DB_URL'),
      ...(args.parts !== undefined && { PLATFORM_PARTS: args.parts }),
      MACHINE_NAME: args.name,
      MACHINE_ADDRESS: args.address,
    };
    const joined = await joinInstallation({
      token,
      own,
      version: programVersion(),
      write: (variables) => writeVariables(file, variables),
    }).catch((error: Error) => {
      throw error instanceof CliError ? error : new CliError(error.message, { advice: 'Nothing was changed.' });
    });
    print(shell, args.json, { ...joined, file }, () => {
      shell.out(`${shell.paint('green', 'Joined')} as ${joined.name}: ${args.file} has the variables (mode 0600)`);
      shell.out(
        shell.paint(
          'dim',
          'Start it with this file, such as `systemctl restart platform`; `platform machines` then shows it',
        ),
      );
    });
  },
});

/**
 * Reads the token from the input. The token is no argument, because arguments are visible in process lists and shell
 * histories.
 */
async function readToken(shell: Shell): Promise<string> {
  const asked = await shell.ask('Token: ');
  return (asked ?? Buffer.from(await shell.input()).toString('utf8')).trim();
}
