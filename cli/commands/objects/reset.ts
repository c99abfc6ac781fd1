// `platform objects reset <object>`: ends the instance of a durable object; its data is kept.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { classFlag } from './object.ts';

export const command = defineCommand({
  meta: { name: 'reset', description: 'End the instance of an object in memory' },
  args: {
    object: { type: 'positional', required: true, description: 'Id or name of the object' },
    ...classFlag,
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const command = 'platform objects reset';
    const { api, path, query, binding } = await needResource(shell, args, 'object', args.class, command);
    const asked = { query: { ...query, object: args.object } };
    const { reset } = await ask<{ reset: boolean }>(api, 'POST', `${path}/entry/reset`, asked);
    print(shell, args.json, { binding, object: args.object, reset }, () =>
      shell.out(
        reset
          ? `${shell.paint('green', 'Reset')} ${args.object}: its next event makes a new instance`
          : `${args.object} is not in memory`,
      ),
    );
  },
});
