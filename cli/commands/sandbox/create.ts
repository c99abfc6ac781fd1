// `platform sandbox create <id>`: creates a sandbox, or recreates its machine with new options.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';
import { optionFlags, optionsOf, snapshotFlag } from './options.ts';

export const command = defineCommand({
  meta: {
    name: 'create',
    description: 'Create a sandbox, or recreate its machine with new options, keeping its files',
  },
  args: { ...sandboxId, ...optionFlags, ...snapshotFlag, ...sandboxFlags },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needSandbox(shell, args, 'platform sandbox create');
    await ask(api, 'PUT', path, { query, body: optionsOf(args) ?? {} });
    print(shell, args.json, { binding, running: args.id }, () =>
      shell.out(`${shell.paint('green', 'Running')} ${args.id}`),
    );
  },
});
