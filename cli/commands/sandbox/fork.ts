// `platform sandbox fork <id> <to>`: creates a sandbox with the files and options of another.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';

export const command = defineCommand({
  meta: { name: 'fork', description: 'Create a sandbox with the files and options of another' },
  args: {
    ...sandboxId,
    to: { type: 'positional', required: true, description: 'ID of the new sandbox' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needSandbox(shell, args, 'platform sandbox fork');
    await ask(api, 'POST', `${path}/fork`, { query: { ...query, to: args.to } });
    print(shell, args.json, { binding, forked: args.id, to: args.to }, () =>
      shell.out(`${shell.paint('green', 'Forked')} ${args.id} as ${args.to}`),
    );
  },
});
