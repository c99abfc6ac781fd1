// `platform env push [file]`: sets all variables of a file atomically.
import path from 'node:path';
import { defineCommand } from 'citty';
import { findApi } from '../../api/target.ts';
import { changeRouteVariables } from '../../routes/route-variables.ts';
import { readVariableFile } from '../../project/variables.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { changeVariables, tellChanged } from '../../api/variables.ts';
import { named, scopeFlags, scopeOf } from '../../api/variable-flags.ts';

export const command = defineCommand({
  meta: { name: 'push', description: 'Set all variables of a file' },
  args: {
    file: { type: 'positional', required: false, description: 'The file (default: .env)' },
    secret: { type: 'boolean', description: 'Store as secrets: only deployments can read the values' },
    ...scopeFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const scope = scopeOf(args) ?? { kind: 'production' as const };
    const name = args.file ?? '.env';
    const values = readVariableFile(path.resolve(shell.cwd, name), (text) => shell.err(shell.paint('yellow', text)));
    if (values === null)
      throw new CliError(`There is no file ${name}`, { exitCode: 2, advice: 'Pass a file with NAME=value lines.' });
    for (const key of Object.keys(values)) named(key);
    if (Object.keys(values).length === 0) throw new CliError(`${name} contains no variables`);
    const api = await findApi(shell, args);
    if (api === null) {
      const project = await changeRouteVariables(shell, args, scope, values);
      return tellChanged(shell, args.json, { project, scope, names: Object.keys(values), redeploy: null });
    }
    tellChanged(shell, args.json, await changeVariables(shell, api, args, scope, values, args.secret === true));
  },
});
