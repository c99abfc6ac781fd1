// `platform db import-libsql <path>`: imports a database of a libSQL server into the platform on this machine, which
// must be stopped. Uses operations/libsql/.
import path from 'node:path';
import { defineCommand } from 'citty';
import { importLibsql } from '#operations/libsql/import-libsql.ts';
import { locationsOf } from '#operations/locations.ts';
import { dataFolder } from '../../local/locations.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: {
    name: 'import-libsql',
    description: 'Import a database of a libSQL server into the platform on this machine',
  },
  args: {
    path: { type: 'positional', required: true, description: 'A database file, or the data folder of the server' },
    project: { type: 'string', required: true, valueHint: 'name', description: 'Name of the project' },
    database: {
      type: 'string',
      required: true,
      valueHint: 'name',
      description: 'Name of the database in platform.yaml',
    },
    namespace: { type: 'string', valueHint: 'name', description: 'Database of the server, if it has several' },
    migrations: { type: 'string', valueHint: 'folder', description: 'Migrations to mark as applied' },
    force: { type: 'boolean', description: 'Replace an existing database, keeping a copy' },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const imported = importLibsql({
      locations: locationsOf(shell.env, dataFolder(shell)),
      source: path.resolve(shell.cwd, args.path),
      namespace: args.namespace ?? null,
      project: args.project,
      database: args.database,
      migrations: args.migrations === undefined ? null : path.resolve(shell.cwd, args.migrations),
      force: args.force === true,
    });
    print(shell, args.json, imported, () => {
      const { tables, bytes, applied, leftOut, aside, file } = imported;
      shell.out(`${shell.paint('green', 'Imported')} ${tables} tables, ${formatBytes(bytes)}, into ${file}`);
      if (applied.length > 0) shell.out(`  Marked as applied: ${applied.join(', ')}`);
      for (const name of leftOut)
        shell.out(shell.paint('yellow', `  Skipped the vector index ${name}; its column was imported`));
      if (aside !== null) shell.out(`  The previous database is in ${aside}: delete it when you no longer need it`);
    });
    return 0;
  },
});
