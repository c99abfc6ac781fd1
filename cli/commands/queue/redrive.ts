// `platform queue redrive [queue]`: redelivers all dead letters of a queue.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'redrive', description: 'Redeliver dead letters' },
  args: {
    queue: { type: 'positional', required: false, description: 'Binding or name of the queue (default: the only one)' },
    ...yesFlag,
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needResource(
      shell,
      args,
      'queue',
      args.queue,
      'platform queue redrive',
    );
    await confirm(shell, args.yes, `All dead letters of ${binding} will be delivered again.`);
    const { count } = await ask<{ count: number }>(api, 'POST', `${path}/redrive`, { query });
    print(shell, args.json, { queue: binding, count }, () =>
      shell.out(`${shell.paint('green', 'Redriven')} ${count} dead letters of ${binding}`),
    );
  },
});
