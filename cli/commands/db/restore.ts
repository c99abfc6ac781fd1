// `platform db restore --at <time>`: restores a moment of a production database, into a copy or in place.
import { defineCommand } from 'citty';
import { parseMoment } from '#core/moment.ts';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';

/** A restore, as the API returns it. */
interface Moments {
  readonly oldest: string | null;
  readonly newest: string | null;
  readonly reason: string | null;
}

interface Restored {
  readonly copy: { readonly name: string; readonly bytes: number };
  readonly changedAt: string;
  readonly before: string | null;
}

export const command = defineCommand({
  meta: { name: 'restore', description: 'Restore a moment of a database into a copy, or in place' },
  args: {
    database: {
      type: 'positional',
      required: false,
      description: 'Binding or name of the database (default: the only one)',
    },
    at: {
      type: 'string',
      valueHint: 'time',
      description: 'The moment, such as 2026-11-28T12:00:00Z; without it: show which moments there are',
    },
    'in-place': { type: 'boolean', description: 'Also replace the database; its current data becomes a copy' },
    ...yesFlag,
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const inPlace = args['in-place'] === true;
    if (args.at !== undefined && parseMoment(args.at) === null)
      throw new CliError(`--at must be a time such as 2026-11-28T12:00:00Z, but is "${args.at}"`, { exitCode: 2 });
    if (args.at === undefined && inPlace) throw new CliError('--in-place needs --at', { exitCode: 2 });
    const { api, path, query, binding } = await needResource(shell, args, 'db', args.database, 'platform db restore');
    if (args.at === undefined) {
      const moments = await ask<Moments>(api, 'GET', `${path}/moments`, { query });
      return print(shell, args.json, { database: binding, ...moments }, () => {
        if (moments.oldest === null) shell.out(`${binding} cannot be restored: ${moments.reason}`);
        else shell.out(`${binding} can be restored from ${moments.oldest} to now; newest change: ${moments.newest}`);
      });
    }
    if (inPlace)
      await confirm(
        shell,
        args.yes,
        `${binding} will be replaced by its state of ${args.at}. Its current data becomes a copy.`,
      );
    shell.progress(`Restoring ${binding}`);
    try {
      const body = { at: args.at, ...(inPlace && { inPlace }) };
      const restored = await ask<Restored>(api, 'POST', `${path}/restore`, { query, body });
      print(shell, args.json, { database: binding, ...restored }, () => {
        const { copy, changedAt, before } = restored;
        const what = `${binding} as of ${args.at} (latest change: ${changedAt}, ${formatBytes(copy.bytes)})`;
        if (before === null) {
          shell.out(`${shell.paint('green', 'Restored')} ${what} into the copy ${copy.name}`);
          shell.out(
            'The database has not changed. To replace the database: pass --in-place, or restore the copy in the dashboard',
          );
        } else {
          shell.out(`${shell.paint('green', 'Restored')} ${what}`);
          shell.out(`The previous data is kept as the copy ${before}`);
        }
      });
    } finally {
      shell.progress(null);
    }
  },
});
