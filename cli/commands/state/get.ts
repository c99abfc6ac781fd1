// `platform state get <key>`: prints the raw value of an entry.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { plain } from '../../terminal/plain.ts';
import { ownLines } from '../../terminal/printed.ts';
import { notThere } from './entry.ts';

export const command = defineCommand({
  meta: { name: 'get', description: 'Print an entry' },
  args: {
    key: { type: 'positional', required: true, description: 'Key of the entry' },
    state: {
      type: 'string',
      alias: 's',
      valueHint: 'name',
      description: 'Binding or name of the state (default: the only one)',
    },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needResource(shell, args, 'state', args.state, 'platform state get');
    const entry = await ask<{ value?: string; base64?: string }>(api, 'GET', `${path}/entry`, {
      query: { ...query, key: args.key },
    }).catch((error: unknown) => {
      throw notThere(error, binding, args.key);
    });
    if (args.json) return shell.out(JSON.stringify(entry));
    if (entry.base64 !== undefined) return shell.write(new Uint8Array(Buffer.from(entry.base64, 'base64')));
    const { value = '' } = entry;
    return shell.isTerminal ? shell.out(ownLines(plain(value))) : shell.write(Buffer.from(`${value}\n`));
  },
});
