// `platform fs cat <key>`: prints a file, or writes it to a local file.
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { open } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import { shownParts } from '../../terminal/printed.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'cat', description: 'Print a file' },
  args: {
    key: { type: 'positional', required: true, description: 'Key of the file' },
    output: { type: 'string', alias: 'o', valueHint: 'file', description: 'Write to this local file' },
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
    const { api, path: at, query, binding } = await needResource(shell, args, 'fs', args.storage, 'platform fs cat');
    const response = await open(api, 'GET', `${at}/content`, { query: { ...query, key: args.key } }).catch(
      (error: unknown) => {
        if (!(error instanceof CliError) || error.code !== 'not_found') throw error;
        throw new CliError(`${binding} has no file ${args.key}`, { advice: '`platform fs ls` lists the files.' });
      },
    );
    const body = response.body as import('node:stream/web').ReadableStream<Uint8Array> | null;
    if (body === null) return;
    if (args.output === undefined) {
      for await (const part of shownParts(body, shell.isTerminal)) await shell.write(part);
      return;
    }
    const file = path.resolve(shell.cwd, args.output);
    await pipeline(Readable.fromWeb(body), createWriteStream(file));
    const bytes = Number(response.headers.get('content-length'));
    if (args.json) shell.out(JSON.stringify({ file, bytes }));
    else shell.out(`${shell.paint('green', 'Wrote')} ${args.output}: ${formatBytes(bytes)}`);
  },
});
