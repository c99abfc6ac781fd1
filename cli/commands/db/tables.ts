// `platform db tables [database]`: lists tables and views of a database.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { plain } from '../../terminal/plain.ts';
import { ownLines } from '../../terminal/printed.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

interface Table {
  readonly name: string;
  readonly type: string;
  readonly sql: string;
}

export const command = defineCommand({
  meta: { name: 'tables', description: 'List tables and views' },
  args: {
    database: {
      type: 'positional',
      required: false,
      description: 'Binding or name of the database (default: the only one)',
    },
    schema: { type: 'boolean', description: 'Print the CREATE statements' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needResource(shell, args, 'db', args.database, 'platform db tables');
    const { items: tables } = await ask<{ items: Table[] }>(api, 'GET', `${path}/tables`, { query });
    print(shell, args.json, { database: binding, tables }, () => {
      if (args.schema === true) for (const { sql } of tables) shell.out(ownLines(`${plain(sql)};`));
      else
        printTable(shell, {
          columns: ['name', 'type'],
          rows: tables.map(({ name, type }) => [name, type]),
          empty: `${binding} has no tables`,
        });
    });
  },
});
