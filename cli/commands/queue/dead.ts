// `platform queue dead [queue]`: lists dead letters with the reason.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { allOf } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

interface DeadLetter {
  readonly id: string;
  readonly payload: unknown;
  readonly attempt: number;
  readonly timestamp: number;
  readonly deadReason: string | null;
}

export const command = defineCommand({
  meta: { name: 'dead', description: 'List dead letters' },
  args: {
    queue: { type: 'positional', required: false, description: 'Binding or name of the queue (default: the only one)' },
    limit: { type: 'string', valueHint: 'n', default: '50', description: 'Maximum number' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const limit = wholeNumber('platform queue dead', '--limit', args.limit, 1, 100_000);
    const { api, path, query, binding } = await needResource(shell, args, 'queue', args.queue, 'platform queue dead');
    const asked = { ...query, limit: Math.min(limit, 200) };
    const messages = await allOf<DeadLetter>(api, `${path}/dead`, asked, limit);
    print(shell, args.json, { queue: binding, messages }, () =>
      printTable(shell, {
        columns: ['id', 'sent', 'attempts', 'why', 'payload'],
        rows: messages.map(({ id, timestamp, attempt, deadReason, payload }) => [
          id,
          new Date(timestamp).toISOString(),
          attempt,
          deadReason,
          JSON.stringify(payload),
        ]),
        empty: `${binding} has no dead letters`,
      }),
    );
  },
});
