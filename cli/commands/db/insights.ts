// `platform db insights [database]`: counts the rows of each table.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

interface Counted {
  readonly table: string;
  readonly rows: number;
  readonly durationMs: number;
}

export const command = defineCommand({
  meta: { name: 'insights', description: 'Count the rows of each table' },
  args: {
    database: {
      type: 'positional',
      required: false,
      description: 'Binding or name of the database (default: the only one)',
    },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needResource(shell, args, 'db', args.database, 'platform db insights');
    const { items: tables } = await ask<{ items: Counted[] }>(api, 'GET', `${path}/insights`, { query });
    print(shell, args.json, { database: binding, tables }, () =>
      printTable(shell, {
        columns: ['table', 'rows', 'counted in'],
        rows: tables.map(({ table, rows, durationMs }) => [table, rows, `${durationMs.toFixed(1)} ms`]),
        empty: `${binding} has no tables`,
      }),
    );
  },
});
