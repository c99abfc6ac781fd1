// `platform db migrate`: lists and applies pending migrations of a database.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

interface Migrations {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}

export const command = defineCommand({
  meta: { name: 'migrate', description: 'Apply pending migrations' },
  args: {
    database: {
      type: 'positional',
      required: false,
      description: 'Binding or name of the database (default: the only one)',
    },
    list: { type: 'boolean', description: 'List applied and pending migrations only' },
    ...yesFlag,
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needResource(shell, args, 'db', args.database, 'platform db migrate');
    const migrations = await ask<Migrations>(api, 'GET', `${path}/migrations`, { query });
    if (args.list === true)
      return print(shell, args.json, { database: binding, ...migrations }, () => {
        for (const name of migrations.applied) shell.out(`${shell.paint('green', 'applied')}  ${name}`);
        for (const name of migrations.pending) shell.out(`${shell.paint('yellow', 'pending')}  ${name}`);
        if (migrations.applied.length + migrations.pending.length === 0) shell.out(`${binding} has no migrations`);
      });
    if (migrations.pending.length > 0)
      await confirm(
        shell,
        args.yes,
        `${migrations.pending.length} migrations of ${binding} will be applied: ${migrations.pending.join(', ')}.`,
      );
    const { applied } =
      migrations.pending.length === 0
        ? { applied: [] }
        : await ask<{ applied: string[] }>(api, 'POST', `${path}/migrate`, { query });
    print(shell, args.json, { database: binding, applied }, () => {
      if (applied.length === 0) shell.out(`${binding} has no pending migrations`);
      for (const name of applied) shell.out(`${shell.paint('green', 'Applied')} ${name}`);
    });
  },
});
