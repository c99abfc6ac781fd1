// `platform settings set NAME=value ...`: changes settings of the platform immediately. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { misuse, valuesOf } from '../../api/variable-flags.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'set', description: 'Change settings' },
  args: {
    names: {
      type: 'positional',
      required: false,
      valueHint: 'more',
      description: 'NAME=value; for a NAME only, the value is read from standard input',
    },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    if (args._.length === 0) throw misuse('Nothing to set');
    const values = await valuesOf(shell, args._);
    const api = await needApi(shell, args, 'platform settings set');
    await ask(api, 'PATCH', '/operator/settings', { body: values });
    const names = Object.keys(values);
    print(shell, args.json, { set: names }, () => shell.out(`${shell.paint('green', 'Set')} ${names.join(', ')}`));
  },
});
