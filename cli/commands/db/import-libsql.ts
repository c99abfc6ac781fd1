// `platform db import-libsql <path>`: takes a database of a libSQL server into a project of the platform on this
// machine, which must not run. operations/libsql/ does it.
import path from 'node:path';
import { defineCommand } from 'citty';
import { importLibsql } from '#operations/libsql/import-libsql.ts';
import { placesOf } from '#operations/places.ts';
import { dataFolder } from '../../local/locations.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'import-libsql', description: 'Take a database of a libSQL server into this machine’s platform' },
  args: {
    path: { type: 'positional', required: true, description: 'A database file, or the data folder of the server' },
    project: { type: 'string', required: true, valueHint: 'name', description: 'Name of the project' },
    database: { type: 'string', required: true, valueHint: 'name', description: 'Database, as platform.yaml names it' },
    namespace: { type: 'string', valueHint: 'name', description: 'Database of the server, where it has several' },
    migrations: { type: 'string', valueHint: 'folder', description: 'SQL files that count as applied: they made it' },
    force: { type: 'boolean', description: 'Set aside what the project has under that name' },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const imported = importLibsql({
      places: placesOf(shell.env, dataFolder(shell)),
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
      if (applied.length > 0) shell.out(`  Count as applied: ${applied.join(', ')}`);
      for (const name of leftOut)
        shell.out(shell.paint('yellow', `  Left out: the index ${name} over vectors; its column is there`));
      if (aside !== null) shell.out(`  What was there is in ${aside}: delete it when all is well`);
    });
    return 0;
  },
});
