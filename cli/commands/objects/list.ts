// `platform objects list [class]`: lists the durable objects of a class.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { allOf } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';
import type { DurableObject } from './object.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List durable objects' },
  args: {
    class: {
      type: 'positional',
      required: false,
      description: 'Binding or class of the objects (default: the only one)',
    },
    limit: { type: 'string', valueHint: 'n', default: '100', description: 'Maximum number' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const limit = wholeNumber('platform objects list', '--limit', args.limit, 1, 1_000_000);
    const { api, path, query, binding } = await needResource(
      shell,
      args,
      'object',
      args.class,
      'platform objects list',
    );
    const objects = await allOf<DurableObject>(api, path, { ...query, limit: Math.min(limit, 200) }, limit);
    print(shell, args.json, { binding, objects }, () =>
      printTable(shell, {
        columns: ['id', 'name', 'bytes', 'last active', 'alarm', 'in memory', 'sockets'],
        rows: objects.map(({ id, name, bytes, activeAt, alarm, isLive, sockets }) => [
          id,
          name,
          bytes,
          timeOf(activeAt),
          alarm === null ? null : timeOf(alarm),
          isLive ? 'yes' : 'no',
          sockets,
        ]),
        empty: `${binding} has no objects`,
      }),
    );
  },
});

function timeOf(at: number): string | null {
  return at === 0 ? null : new Date(at).toISOString();
}
