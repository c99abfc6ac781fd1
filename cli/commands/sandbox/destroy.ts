// `platform sandbox destroy <id>`: deletes a sandbox and everything in it.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId, sayMissing } from './find.ts';

export const command = defineCommand({
  meta: { name: 'destroy', description: 'Delete a sandbox and everything in it' },
  args: { ...sandboxId, ...yesFlag, ...sandboxFlags },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needSandbox(shell, args, 'platform sandbox destroy');
    await ask(api, 'GET', path, { query }).catch(
      sayMissing(`${binding} has no sandbox ${args.id}`, '`platform sandbox list` lists the sandboxes.'),
    );
    await confirm(shell, args.yes, `${args.id} of ${binding} and all its files will be deleted.`);
    await ask(api, 'DELETE', path, { query });
    print(shell, args.json, { binding, destroyed: args.id }, () =>
      shell.out(`${shell.paint('green', 'Destroyed')} ${args.id}`),
    );
  },
});
