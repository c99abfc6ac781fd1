// `platform settings unset NAME ...`: removes stored settings of the platform. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { misuse } from '../../api/variable-flags.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'unset', description: 'Remove stored settings' },
  args: {
    names: { type: 'positional', required: false, valueHint: 'more', description: 'Names' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const names = args._;
    if (names.length === 0) throw misuse('Nothing to remove');
    const api = await needApi(shell, args, 'platform settings unset');
    const body = Object.fromEntries(names.map((name) => [name, null]));
    await ask(api, 'PATCH', '/operator/settings', { body });
    print(shell, args.json, { removed: names }, () =>
      shell.out(`${shell.paint('green', 'Removed')} ${names.join(', ')}`),
    );
  },
});
