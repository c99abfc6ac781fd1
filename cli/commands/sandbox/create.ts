// `platform sandbox create <id>`: makes a sandbox, or its machine anew where it is to be another one.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';
import { optionFlags, optionsOf, snapshotFlag } from './options.ts';

export const command = defineCommand({
  meta: {
    name: 'create',
    description: 'Make a sandbox; one that exists gets another machine where it is to be another one, with its files',
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
