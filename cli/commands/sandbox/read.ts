// `platform sandbox read <id> <path>`: prints a file, or writes it to a local file.
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { defineCommand } from 'citty';
import { open } from '../../api/requests.ts';
import { shownParts } from '../../terminal/printed.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId, sayMissing } from './find.ts';

export const command = defineCommand({
  meta: { name: 'read', description: 'Print a file of a sandbox' },
  args: {
    ...sandboxId,
    path: { type: 'positional', required: true, description: 'Absolute path, or relative to /workspace' },
    output: { type: 'string', alias: 'o', valueHint: 'file', description: 'Write to this local file' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path: at, query } = await needSandbox(shell, args, 'platform sandbox read');
    const response = await open(api, 'GET', `${at}/files/content`, { query: { ...query, path: args.path } }).catch(
      sayMissing(`${args.id} has no file ${args.path}`, '`platform sandbox ls` lists the files.'),
    );
    const body = (response.body ?? new ReadableStream()) as import('node:stream/web').ReadableStream<Uint8Array>;
    if (args.output === undefined) {
      for await (const part of shownParts(body, shell.isTerminal)) await shell.write(part);
      return;
    }
    const file = path.resolve(shell.cwd, args.output);
    const written = createWriteStream(file);
    await pipeline(Readable.fromWeb(body), written);
    const bytes = written.bytesWritten;
    print(shell, args.json, { file, bytes }, () =>
      shell.out(`${shell.paint('green', 'Wrote')} ${args.output}: ${formatBytes(bytes)}`),
    );
  },
});
