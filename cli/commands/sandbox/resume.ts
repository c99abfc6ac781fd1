// `platform sandbox resume <id>`: resumes a sandbox, or creates it.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';
import { optionFlags, optionsOf } from './options.ts';

export const command = defineCommand({
  meta: { name: 'resume', description: 'Resume a sandbox; creates it if it does not exist' },
  args: {
    ...sandboxId,
    ...optionFlags,
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needSandbox(shell, args, 'platform sandbox resume');
    const options = optionsOf(args);
    if (options === undefined) await ask(api, 'POST', `${path}/resume`, { query });
    else await ask(api, 'PUT', path, { query, body: options });
    print(shell, args.json, { binding, resumed: args.id }, () =>
      shell.out(`${shell.paint('green', 'Resumed')} ${args.id}`),
    );
  },
});
