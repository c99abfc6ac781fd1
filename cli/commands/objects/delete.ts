// `platform objects delete <object>`: deletes the data of a durable object, and its alarm.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { classFlag, noObject } from './object.ts';

export const command = defineCommand({
  meta: { name: 'delete', description: 'Delete the data of an object, and its alarm' },
  args: {
    object: { type: 'positional', required: true, description: 'Id or name of the object' },
    ...classFlag,
    ...yesFlag,
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const command = 'platform objects delete';
    const { api, path, query, binding } = await needResource(shell, args, 'object', args.class, command);
    await confirm(shell, args.yes, `All that ${args.object} of ${binding} stored will be deleted.`);
    await ask(api, 'DELETE', `${path}/entry`, { query: { ...query, object: args.object } }).catch((error: unknown) => {
      throw noObject(error, binding, args.object);
    });
    print(shell, args.json, { binding, deleted: args.object }, () =>
      shell.out(`${shell.paint('green', 'Deleted')} ${args.object}`),
    );
  },
});
