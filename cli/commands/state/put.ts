// `platform state put <key> [value]`: writes an entry; reads the value from standard input by default.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'put', description: 'Write an entry' },
  args: {
    key: { type: 'positional', required: true, description: 'Key of the entry' },
    value: { type: 'positional', required: false, description: 'Value (default: standard input)' },
    state: {
      type: 'string',
      alias: 's',
      valueHint: 'name',
      description: 'Binding or name of the state (default: the only one)',
    },
    ttl: { type: 'string', valueHint: 'seconds', description: 'Seconds until the entry expires' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const ttl = args.ttl === undefined ? null : wholeNumber('platform state put', '--ttl', args.ttl, 1, 1_000_000_000);
    const bytes = args.value === undefined ? Buffer.from(await shell.input()) : Buffer.from(args.value);
    const text = bytes.toString('utf8');
    const isText = Buffer.from(text).equals(bytes);
    const { api, path, query, binding } = await needResource(shell, args, 'state', args.state, 'platform state put');
    await ask(api, 'PUT', `${path}/entry`, {
      query: { ...query, key: args.key },
      body: {
        ...(isText ? { value: text } : { base64: bytes.toString('base64') }),
        ...(ttl !== null && { expirationTtl: ttl }),
      },
    });
    print(shell, args.json, { state: binding, key: args.key, bytes: bytes.length }, () =>
      shell.out(`${shell.paint('green', 'Wrote')} ${args.key} of ${binding}: ${bytes.length} bytes`),
    );
  },
});
