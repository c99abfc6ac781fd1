// `platform state delete <key>`: deletes an entry.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'delete', description: 'Delete an entry' },
  args: {
    key: { type: 'positional', required: true, description: 'Key of the entry' },
    state: {
      type: 'string',
      alias: 's',
      valueHint: 'name',
      description: 'Binding or name of the state (default: the only one)',
    },
    ...yesFlag,
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needResource(shell, args, 'state', args.state, 'platform state delete');
    await confirm(shell, args.yes, `${args.key} of ${binding} will be deleted.`);
    await ask(api, 'DELETE', `${path}/entry`, { query: { ...query, key: args.key } });
    print(shell, args.json, { state: binding, deleted: args.key }, () =>
      shell.out(`${shell.paint('green', 'Deleted')} ${args.key}`),
    );
  },
});
