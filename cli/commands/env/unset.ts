// `platform env unset NAME ...` (`rm`): removes variables of a project.
import { defineCommand } from 'citty';
import { findApi } from '../../api/target.ts';
import { changeRouteVariables } from '../../routes/route-variables.ts';
import type { Shell } from '../../terminal/shell.ts';
import { changeVariables, tellChanged } from '../../api/variables.ts';
import { misuse, named, scopeFlags, scopeOf } from '../../api/variable-flags.ts';

export const command = defineCommand({
  meta: { name: 'unset', description: 'Remove variables' },
  args: {
    names: { type: 'positional', required: false, valueHint: 'more', description: 'Names of variables' },
    ...scopeFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const scope = scopeOf(args) ?? { kind: 'production' as const };
    if (args._.length === 0) throw misuse('Nothing to unset');
    const changes = Object.fromEntries(args._.map((name) => [named(name), null]));
    const api = await findApi(shell, args);
    if (api === null) {
      const project = await changeRouteVariables(shell, args, scope, changes);
      return tellChanged(shell, args.json, { project, scope, names: Object.keys(changes), redeploy: null });
    }
    tellChanged(shell, args.json, await changeVariables(shell, api, args, scope, changes, false));
  },
});
