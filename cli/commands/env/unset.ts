// `platform env unset NAME ...` (`rm`): takes variables of a project away.
import { defineCommand } from 'citty';
import { findApi } from '../../api/target.ts';
import { changeRouteVariables } from '../../routes/route-variables.ts';
import type { Shell } from '../../terminal/shell.ts';
import { changeVariables, tellChanged } from '../../api/variables.ts';
import { misuse, named, scopeFlags, scopeOf } from '../../api/variable-flags.ts';

export const command = defineCommand({
  meta: { name: 'unset', description: 'Take variables away' },
  args: {
    names: { type: 'positional', required: false, valueHint: 'more', description: 'NAME, several at once' },
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
