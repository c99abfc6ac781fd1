// `platform sandbox snapshots`: lists the snapshots of a sandbox binding.
import { defineCommand } from 'citty';
import { allOf } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print, printTable } from '../../terminal/table.ts';
import { needSnapshots, sandboxFlags } from './find.ts';
import { toTime } from './list.ts';

/** A snapshot in the format of the API. */
export interface SandboxSnapshot {
  readonly id: string;
  readonly of: string;
  readonly createdAt: number;
  readonly sizeBytes: number;
}

export const command = defineCommand({
  meta: { name: 'list', description: 'List the snapshots of sandboxes' },
  args: {
    prefix: { type: 'string', valueHint: 'text', description: 'Only IDs with this prefix' },
    limit: { type: 'string', valueHint: 'n', default: '100', description: 'Maximum number' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const limit = wholeNumber('platform sandbox snapshots', '--limit', args.limit, 1, 100_000);
    const { api, path, query, binding } = await needSnapshots(shell, args, 'platform sandbox snapshots');
    const asked = { ...query, prefix: args.prefix, limit: Math.min(limit, 1000) };
    const snapshots = await allOf<SandboxSnapshot>(api, path, asked, limit);
    print(shell, args.json, { binding, snapshots }, () =>
      printTable(shell, {
        columns: ['id', 'of', 'size', 'taken'],
        rows: snapshots.map(({ id, of, sizeBytes, createdAt }) => [id, of, formatBytes(sizeBytes), toTime(createdAt)]),
        empty: `${binding} has no snapshots: create one with \`platform sandbox snapshot <id>\``,
      }),
    );
  },
});
