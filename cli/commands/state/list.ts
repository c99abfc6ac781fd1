// `platform state list <binding> [prefix]`: lists the keys of a state.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { allOf } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

interface Entry {
  readonly key: string;
  readonly expiresAt: number | null;
  readonly metadata: unknown;
}

export const command = defineCommand({
  meta: { name: 'list', description: 'List keys' },
  args: {
    binding: {
      type: 'positional',
      required: false,
      description: 'Binding or name of the state (default: the only one)',
    },
    prefix: { type: 'string', valueHint: 'text', description: 'Only keys with this prefix' },
    limit: { type: 'string', valueHint: 'n', default: '100', description: 'Maximum number' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const limit = wholeNumber('platform state list', '--limit', args.limit, 1, 1_000_000);
    const { api, path, query, binding } = await needResource(shell, args, 'state', args.binding, 'platform state list');
    const asked = { ...query, prefix: args.prefix, limit: Math.min(limit, 1000) };
    const entries = await allOf<Entry>(api, path, asked, limit);
    print(shell, args.json, { state: binding, entries }, () =>
      printTable(shell, {
        columns: ['key', 'expires', 'metadata'],
        rows: entries.map(({ key, expiresAt, metadata }) => [
          key,
          expiresAt === null ? null : new Date(expiresAt).toISOString(),
          metadata === null ? null : JSON.stringify(metadata),
        ]),
        empty: `${binding} has no entries${args.prefix === undefined ? '' : ` under ${args.prefix}`}`,
      }),
    );
  },
});
