// `platform objects get <object>`: shows a durable object with its keys and values.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { allOf, ask } from '../../api/requests.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';
import { classFlag, noObject, type DurableObject } from './object.ts';

interface Value {
  readonly key: string;
  readonly isKeyCut: boolean;
  readonly size: number;
  readonly value: string;
  readonly isCut: boolean;
}

export const command = defineCommand({
  meta: { name: 'get', description: 'Show a durable object with its keys' },
  args: {
    object: { type: 'positional', required: true, description: 'Id or name of the object' },
    ...classFlag,
    prefix: { type: 'string', valueHint: 'text', description: 'Only keys with this prefix' },
    limit: { type: 'string', valueHint: 'n', default: '100', description: 'Maximum number of keys' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const limit = wholeNumber('platform objects get', '--limit', args.limit, 1, 1_000_000);
    const { api, path, query, binding } = await needResource(shell, args, 'object', args.class, 'platform objects get');
    const asked = { ...query, object: args.object };
    const object = await ask<DurableObject>(api, 'GET', `${path}/entry`, { query: asked }).catch((error: unknown) => {
      throw noObject(error, binding, args.object);
    });
    const page = { ...asked, prefix: args.prefix, limit: Math.min(limit, 200) };
    const values = await allOf<Value>(api, `${path}/entry/values`, page, limit);
    print(shell, args.json, { ...object, values }, () => {
      const { id, name, bytes, alarm, isLive, sockets } = object;
      shell.out(`${shell.paint('bold', name ?? id)}${name === null ? '' : `  ${id}`}`);
      shell.out(
        `${bytes} bytes, ${isLive ? 'in memory' : 'not in memory'}, ${sockets} sockets, ${alarm === null ? 'no alarm' : `alarm at ${new Date(alarm).toISOString()}`}`,
      );
      printTable(shell, {
        columns: ['key', 'value', 'characters'],
        rows: values.map(({ key, isKeyCut, value, isCut, size }) => [
          isKeyCut ? `${key}...` : key,
          isCut ? `${value}...` : value,
          size,
        ]),
        empty: 'No keys',
      });
    });
  },
});
