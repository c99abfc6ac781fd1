// `platform sandbox unexpose <id> <port>`: removes the URL of an exposed port.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, PORT_MAX, sandboxFlags, sandboxId } from './find.ts';

export const command = defineCommand({
  meta: { name: 'unexpose', description: 'Remove the URL of an exposed port' },
  args: {
    ...sandboxId,
    port: { type: 'positional', required: true, description: 'Exposed port' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const port = wholeNumber('platform sandbox unexpose', 'The port', args.port, 1, PORT_MAX);
    const { api, path, query } = await needSandbox(shell, args, 'platform sandbox unexpose');
    await ask(api, 'DELETE', `${path}/ports/${port}`, { query });
    print(shell, args.json, { sandbox: args.id, unexposed: port }, () =>
      shell.out(`${shell.paint('green', 'Unexposed')} ${port} of ${args.id}`),
    );
  },
});
