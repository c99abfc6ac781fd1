// `platform sandbox resume <id>`: wakes a sandbox up, or makes it.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';

export const command = defineCommand({
  meta: { name: 'resume', description: 'Wake a sandbox up; one that does not exist is made' },
  args: {
    ...sandboxId,
    machine: {
      type: 'string',
      valueHint: 'size',
      description: 'Give it another size, with its files: small, default, large or xlarge',
    },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needSandbox(shell, args, 'platform sandbox resume');
    await ask(api, 'POST', `${path}/resume`, { query: { ...query, machine: args.machine } });
    print(shell, args.json, { binding, resumed: args.id }, () =>
      shell.out(`${shell.paint('green', 'Resumed')} ${args.id}`),
    );
  },
});
