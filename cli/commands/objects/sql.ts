// `platform objects sql <object> <sql>`: runs SQL on the database of a durable object.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';
import { cellOf, shownCell } from '../db/cells.ts';
import { classFlag } from './object.ts';

interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly truncated: boolean;
  readonly rowsWritten: number;
}

export const command = defineCommand({
  meta: { name: 'sql', description: "Run SQL on an object's database" },
  args: {
    object: { type: 'positional', required: true, description: 'Id or name of the object' },
    sql: { type: 'positional', required: false, description: 'The SQL (default: standard input)' },
    ...classFlag,
    write: { type: 'boolean', alias: 'w', description: 'Allow SQL that writes' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const sql = args.sql ?? Buffer.from(await shell.input()).toString();
    if (sql.trim() === '')
      throw new CliError('No statement given', { exitCode: 2, advice: "platform objects sql lobby 'SELECT 1'" });
    const { api, path, query } = await needResource(shell, args, 'object', args.class, 'platform objects sql');
    const answer = await ask<Answer>(api, 'POST', `${path}/entry/${args.write === true ? 'sql' : 'query'}`, {
      query: { ...query, object: args.object },
      body: { sql },
    });
    const { columns, rows, truncated, rowsWritten } = answer;
    const objects = rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, shownCell(row[at])])));
    print(shell, args.json, { rows: objects, truncated, rowsWritten }, () => {
      if (columns.length > 0)
        printTable(shell, { columns, rows: rows.map((row) => row.map(cellOf)), empty: 'No rows' });
      if (truncated) shell.err(shell.paint('yellow', `Only the first ${rows.length} rows are shown: use LIMIT`));
      shell.err(shell.paint('dim', `${rows.length} rows, ${rowsWritten} rows written`));
    });
  },
});
