// `platform db query <sql>`: runs a statement on a project's database, including statements that write.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';
import { cellOf, shownCell } from './cells.ts';

interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly truncated: boolean;
  readonly meta: { readonly durationMs: number; readonly changes: number; readonly rowsRead: number };
}

export const command = defineCommand({
  meta: { name: 'query', description: 'Run a statement' },
  args: {
    sql: { type: 'positional', required: false, description: 'The statement (default: standard input)' },
    database: {
      type: 'string',
      alias: 'd',
      valueHint: 'name',
      description: 'Binding or name of the database (default: the only one)',
    },
    param: { type: 'string', valueHint: 'json', description: 'Parameters as a JSON array' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const sql = args.sql ?? Buffer.from(await shell.input()).toString();
    if (sql.trim() === '')
      throw new CliError('No statement given', { exitCode: 2, advice: "platform db query 'SELECT 1'" });
    const params = paramsOf(args.param);
    const { api, path, query } = await needResource(shell, args, 'db', args.database, 'platform db query');
    const body = { sql, ...(params !== null && { params }) };
    const answer = await ask<Answer>(api, 'POST', `${path}/query`, { query, body });
    const { columns, rows, truncated, meta } = answer;
    const objects = rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, shownCell(row[at])])));
    print(shell, args.json, { rows: objects, truncated, meta }, () => {
      if (columns.length > 0)
        printTable(shell, { columns, rows: rows.map((row) => row.map(cellOf)), empty: 'No rows' });
      if (truncated) shell.err(shell.paint('yellow', `Only the first ${rows.length} rows are shown: use LIMIT`));
      shell.err(
        shell.paint(
          'dim',
          `${rows.length} rows, ${meta.changes} changes, ${meta.rowsRead} rows read, ${meta.durationMs.toFixed(1)} ms`,
        ),
      );
    });
  },
});

function paramsOf(text: string | undefined): unknown[] | null {
  if (text === undefined) return null;
  try {
    const values: unknown = JSON.parse(text);
    if (Array.isArray(values)) return values;
  } catch {
    // Reported below.
  }
  throw new CliError('--param must be a JSON array', { exitCode: 2, advice: `For example: --param '["ada", 7]'.` });
}
