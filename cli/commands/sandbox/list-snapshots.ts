// `platform sandbox snapshots`: the snapshots of a binding's sandboxes.
import { defineCommand } from 'citty';
import { allOf } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print, printTable } from '../../terminal/table.ts';
import { needSnapshots, sandboxFlags } from './find.ts';
import { toTime } from './list.ts';

/** As the API says it. */
export interface SandboxSnapshot {
  readonly id: string;
  readonly of: string;
  readonly createdAt: number;
  readonly sizeBytes: number;
}

export const command = defineCommand({
  meta: { name: 'list', description: 'List the snapshots of sandboxes' },
  args: {
    prefix: { type: 'string', valueHint: 'text', description: 'Those whose ids begin with it' },
    limit: { type: 'string', valueHint: 'n', default: '100', description: 'How many at most' },
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
        empty: `${binding} has no snapshots: \`platform sandbox snapshot <id>\` takes one`,
      }),
    );
  },
});
