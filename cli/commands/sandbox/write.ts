// `platform sandbox write <id> <path> [file]`: uploads a local file or standard input.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';

export const command = defineCommand({
  meta: { name: 'write', description: 'Write a file in a sandbox; creates missing folders' },
  args: {
    ...sandboxId,
    path: { type: 'positional', required: true, description: 'Absolute path, or relative to /workspace' },
    file: { type: 'positional', required: false, description: 'Local file (default: standard input)' },
    mode: { type: 'string', valueHint: 'octal', description: 'Permissions, for example 755' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const mode = args.mode === undefined ? undefined : toMode(args.mode);
    const bytes = args.file === undefined ? await shell.input() : read(path.resolve(shell.cwd, args.file));
    const { api, path: at, query } = await needSandbox(shell, args, 'platform sandbox write');
    await ask(api, 'PUT', `${at}/files/content`, {
      query: { ...query, path: args.path, mode },
      bytes: new Uint8Array(bytes),
      headers: { 'content-type': 'application/octet-stream' },
    });
    print(shell, args.json, { sandbox: args.id, path: args.path, bytes: bytes.byteLength }, () =>
      shell.out(`${shell.paint('green', 'Wrote')} ${args.path} of ${args.id}: ${formatBytes(bytes.byteLength)}`),
    );
  },
});

function toMode(text: string): number {
  if (/^0?[0-7]{3}$/.test(text)) return Number.parseInt(text, 8);
  throw new CliError(`--mode must be three octal digits such as 755, but is "${text}"`, { exitCode: 2 });
}

function read(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, { exitCode: 2 });
  }
}
