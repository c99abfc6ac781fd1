// `platform db import <file>`: runs the statements of a file in one transaction.
import path from 'node:path';
import { defineCommand } from 'citty';
import { readTextSync } from '#core/text-file.ts';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';

const SQL_CHARS_MAX = 4_000_000;

export const command = defineCommand({
  meta: { name: 'import', description: 'Run the statements of a file' },
  args: {
    file: { type: 'positional', required: true, description: 'A file of SQL; - is standard input' },
    database: {
      type: 'string',
      alias: 'd',
      valueHint: 'name',
      description: 'Binding or name of the database (default: the only one)',
    },
    ...yesFlag,
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const sql =
      args.file === '-' ? Buffer.from(await shell.input()).toString() : textOf(path.resolve(shell.cwd, args.file));
    if (sql.startsWith('SQLite format 3'))
      throw new CliError(`${args.file} is a database, not SQL`, {
        advice: `Make SQL of it first: sqlite3 ${args.file} .dump`,
      });
    if (sql.length > SQL_CHARS_MAX)
      throw new CliError(`${args.file} has more than ${formatBytes(SQL_CHARS_MAX)}: it runs as one transaction`, {
        advice: 'Split it, and import one part after the other.',
      });
    const found = await needResource(shell, args, 'db', args.database, 'platform db import');
    const whose = args.branch === undefined ? 'production' : `previews of ${args.branch}`;
    await confirm(shell, args.yes, `${args.file} will be run on ${found.binding} of ${found.project.name} (${whose}).`);
    // Files of `.dump` begin a transaction of their own.
    const statements = sql
      .replace(/^\s*(?:BEGIN(?: TRANSACTION)?|COMMIT)\s*;\s*$/gim, '')
      .replace(/^\s*PRAGMA foreign_keys\s*=\s*\w+;\s*$/gim, '');
    const { query } = found;
    const answer = await ask<{ count: number; durationMs: number }>(found.api, 'POST', `${found.path}/script`, {
      query,
      body: { sql: statements },
    });
    print(shell, args.json, answer, () =>
      shell.out(
        `${shell.paint('green', 'Ran')} ${answer.count} statements on ${found.binding} in ${Math.round(answer.durationMs)} ms`,
      ),
    );
  },
});

function textOf(file: string): string {
  try {
    return readTextSync(file);
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, { exitCode: 2 });
  }
}
