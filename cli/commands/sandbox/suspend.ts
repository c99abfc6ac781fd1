// `platform sandbox suspend <id>`: suspends a sandbox until the next call.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';

export const command = defineCommand({
  meta: { name: 'suspend', description: 'Suspend a sandbox until the next call' },
  args: { ...sandboxId, ...sandboxFlags },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needSandbox(shell, args, 'platform sandbox suspend');
    await ask(api, 'POST', `${path}/suspend`, { query });
    print(shell, args.json, { binding, suspended: args.id }, () =>
      shell.out(`${shell.paint('green', 'Suspended')} ${args.id}`),
    );
  },
});
