// `platform machines remove NAME`: removes a machine that is lost or drained. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import { plain } from '../../terminal/plain.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'remove', description: 'Remove a machine that is lost or drained' },
  args: {
    name: { type: 'positional', required: true, description: 'Name of the machine' },
    ...yesFlag,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform machines remove');
    await confirm(shell, args.yes, `${args.name} will be removed. If it still runs, it stops.`);
    await ask(api, 'DELETE', `/operator/machines/${encodeURIComponent(args.name)}`);
    print(shell, args.json, { removed: args.name }, () =>
      shell.out(plain(`${shell.paint('green', 'Removed')} ${args.name}`)),
    );
  },
});
