// `platform env pull [file]`: writes the variables of a project to a file for `platform dev`. Secret values are not
// available: their names are written as comments.
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { findApi } from '../../api/target.ts';
import { readRouteVariables } from '../../routes/route-variables.ts';
import { toVariableFile } from '../../project/variables.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { readVariables } from '../../api/variables.ts';
import { inWords, misuse, scopeFlags, scopeOf } from '../../api/variable-flags.ts';

export const command = defineCommand({
  meta: { name: 'pull', description: 'Write the variables to a file' },
  args: {
    file: { type: 'positional', required: false, description: 'The file (default: .env)' },
    force: { type: 'boolean', description: 'Overwrite an existing file' },
    ...scopeFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    if (args._.length > 1) throw misuse('`platform env pull` takes one file');
    const name = args.file ?? '.env';
    const file = path.resolve(shell.cwd, name);
    const api = await findApi(shell, args);
    const scope = scopeOf(args) ?? { kind: 'production' as const };
    const { variables } =
      api === null ? await readRouteVariables(shell, args, scope) : await readVariables(shell, api, args, scope);
    if (existsSync(file) && args.force !== true)
      throw new CliError(`${name} already exists`, {
        advice: 'Choose another file: platform env pull other.env, or pass --force to overwrite the existing file.',
      });
    const told: Record<string, string> = {};
    const secrets: string[] = [];
    for (const { name: key, value } of variables) {
      if (value === null) secrets.push(key);
      else told[key] = value;
    }
    const hints = secrets.map((key) => `# ${key}= (secret: the platform does not reveal its value)\n`).join('');
    writeFileSync(file, toVariableFile(told) + hints, { mode: 0o600 });
    const count = Object.keys(told).length;
    if (args.json) return shell.out(JSON.stringify({ file, variables: Object.keys(told), secrets }));
    shell.out(`${shell.paint('green', 'Wrote')} ${name}: ${count} variables of ${inWords(scope)}`);
    if (secrets.length > 0) shell.err(`Secret values are not included: fill in ${secrets.join(', ')} yourself`);
  },
});
