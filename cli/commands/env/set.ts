// `platform env set NAME=value ...`: sets variables for production, previews, a branch or development.
import { defineCommand } from 'citty';
import { findApi } from '../../api/target.ts';
import { changeRouteVariables } from '../../routes/route-variables.ts';
import type { Shell } from '../../terminal/shell.ts';
import { changeVariables, tellChanged } from '../../api/variables.ts';
import { misuse, scopeFlags, scopeOf, valuesOf } from '../../api/variable-flags.ts';

export const command = defineCommand({
  meta: { name: 'set', description: 'Set variables' },
  args: {
    names: {
      type: 'positional',
      required: false,
      valueHint: 'more',
      description: 'NAME=value; for a NAME only, the value is read from standard input',
    },
    secret: { type: 'boolean', description: 'Store as a secret: only deployments can read the value' },
    ...scopeFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const scope = scopeOf(args) ?? { kind: 'production' as const };
    if (args._.length === 0) throw misuse('Nothing to set');
    const values = await valuesOf(shell, args._);
    const api = await findApi(shell, args);
    if (api === null) {
      const project = await changeRouteVariables(shell, args, scope, values);
      return tellChanged(shell, args.json, { project, scope, names: Object.keys(values), redeploy: null });
    }
    tellChanged(shell, args.json, await changeVariables(shell, api, args, scope, values, args.secret === true));
  },
});
