// `platform db export [file]`: downloads a consistent copy of a database as a SQLite file.
import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { open } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'export', description: 'Export a database to a SQLite file' },
  args: {
    file: { type: 'positional', required: false, description: 'The file (default: <binding>.sqlite)' },
    database: {
      type: 'string',
      alias: 'd',
      valueHint: 'name',
      description: 'Binding or name of the database (default: the only one)',
    },
    force: { type: 'boolean', description: 'Overwrite an existing file' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const {
      api,
      path: at,
      query,
      binding,
    } = await needResource(shell, args, 'db', args.database, 'platform db export');
    const name = args.file ?? `${binding.toLowerCase()}.sqlite`;
    const file = path.resolve(shell.cwd, name);
    if (existsSync(file) && args.force !== true)
      throw new CliError(`${name} already exists`, {
        advice: 'Choose another file, or pass --force to overwrite the existing file.',
      });
    const response = await open(api, 'GET', `${at}/export`, { query });
    const wanted = Number(response.headers.get('content-length'));
    let bytes = 0;
    const counted = async function* (parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const part of parts) {
        bytes += part.byteLength;
        shell.progress(`${formatBytes(bytes)} of ${formatBytes(wanted)}`);
        yield part;
      }
    };
    const partial = `${file}.${process.pid}.partial`;
    try {
      const body = Readable.fromWeb(response.body as import('node:stream/web').ReadableStream);
      await pipeline(body, counted, createWriteStream(partial, { mode: 0o600, flags: 'wx' }));
      if (bytes !== wanted)
        throw new CliError(`The download ended after ${bytes} of ${wanted} bytes`, { advice: 'Try again.' });
      renameSync(partial, file);
    } finally {
      rmSync(partial, { force: true });
      shell.progress(null);
    }
    print(shell, args.json, { file, bytes }, () =>
      shell.out(`${shell.paint('green', 'Wrote')} ${name}: ${formatBytes(bytes)}`),
    );
  },
});
