// `platform sandbox expose <id> <port>`: exposes a port of a sandbox at a URL.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { needSandbox, PORT_MAX, sandboxFlags, sandboxId } from './find.ts';
import type { ExposedPort } from './ports.ts';

export const command = defineCommand({
  meta: { name: 'expose', description: 'Expose a port at a URL; shows the URL and token of an exposed port' },
  args: {
    ...sandboxId,
    port: { type: 'positional', required: true, description: 'Port of a server in the sandbox' },
    label: { type: 'string', valueHint: 'text', description: 'Label of the port' },
    public: { type: 'boolean', description: 'Allow access without a token' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const port = wholeNumber('platform sandbox expose', 'The port', args.port, 1, PORT_MAX);
    const { api, path, query } = await needSandbox(shell, args, 'platform sandbox expose');
    const body = {
      port,
      ...(args.label !== undefined && { name: args.label }),
      ...(args.public && { auth: 'public' }),
    };
    const exposed = await ask<ExposedPort>(api, 'POST', `${path}/ports`, { query, body });
    print(shell, args.json, { sandbox: args.id, ...exposed }, () => {
      const { url, token } = exposed;
      shell.out(token === undefined ? url : `${url}?token=${token}`);
    });
  },
});
