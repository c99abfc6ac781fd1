// `platform fs put <key> [file]`: uploads a local file or standard input.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'put', description: 'Write a file' },
  args: {
    key: { type: 'positional', required: true, description: 'Key of the file' },
    file: { type: 'positional', required: false, description: 'Local file (default: standard input)' },
    type: { type: 'string', valueHint: 'type', description: 'Content-Type (default: application/octet-stream)' },
    storage: {
      type: 'string',
      alias: 's',
      valueHint: 'name',
      description: 'Binding or name of the file storage (default: the only one)',
    },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const bytes = args.file === undefined ? await shell.input() : read(path.resolve(shell.cwd, args.file));
    const { api, path: at, query, binding } = await needResource(shell, args, 'fs', args.storage, 'platform fs put');
    const written = await ask<{ key: string; size: number; etag: string }>(api, 'PUT', `${at}/content`, {
      query: { ...query, key: args.key },
      bytes: new Uint8Array(bytes),
      headers: { 'content-type': args.type ?? 'application/octet-stream' },
    });
    print(shell, args.json, { storage: binding, ...written }, () =>
      shell.out(`${shell.paint('green', 'Wrote')} ${written.key} of ${binding}: ${formatBytes(written.size)}`),
    );
  },
});

function read(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, { exitCode: 2 });
  }
}
