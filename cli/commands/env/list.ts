// `platform env list`: lists the variables of a project. Values are printed only with --show, secret values never.
import { defineCommand } from 'citty';
import { findApi } from '../../api/target.ts';
import { readRouteVariables } from '../../routes/route-variables.ts';
import type { Shell } from '../../terminal/shell.ts';
import { readVariables } from '../../api/variables.ts';
import { inWords, scopeFlags, scopeOf } from '../../api/variable-flags.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List the variables' },
  args: {
    show: { type: 'boolean', description: 'Print values; secret values are never printed' },
    ...scopeFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const scope = scopeOf(args);
    const api = await findApi(shell, args);
    const { project, variables } =
      api === null ? await readRouteVariables(shell, args, scope) : await readVariables(shell, api, args, scope);
    const rows = variables.map((variable) => ({
      name: variable.name,
      target: inWords(variable.scope),
      ...('kind' in variable && { kind: variable.kind }),
      ...(args.show === true && { value: variable.value }),
    }));
    if (args.json) return shell.out(JSON.stringify({ project, variables: rows }));
    const width = Math.max(0, ...rows.map(({ name }) => name.length));
    for (const { name, target, value, ...row } of rows) {
      const secret = 'kind' in row && row.kind === 'secret' ? ` ${shell.paint('yellow', '(secret)')}` : '';
      const shown = typeof value === 'string' ? `  ${value}` : '';
      shell.out(`${name.padEnd(width)}  ${shell.paint('dim', target)}${secret}${shown}`);
    }
    if (rows.length === 0) shell.out(`No variables are set for ${scope === null ? project : inWords(scope)}`);
  },
});
