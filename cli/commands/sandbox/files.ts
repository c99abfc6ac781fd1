// `platform sandbox ls <id> [path]`: lists files of a sandbox.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print, printTable } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId, sayMissing } from './find.ts';

interface SandboxFile {
  readonly path: string;
  readonly type: string;
  readonly size?: number;
}

export const command = defineCommand({
  meta: { name: 'ls', description: 'List files of a sandbox' },
  args: {
    ...sandboxId,
    path: { type: 'positional', required: false, description: 'The folder (default: /workspace)' },
    recursive: { type: 'boolean', alias: 'r', description: 'Include the contents of folders' },
    all: { type: 'boolean', alias: 'a', description: 'Include hidden files' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path: at, query } = await needSandbox(shell, args, 'platform sandbox ls');
    const asked = { ...query, path: args.path, recursive: args.recursive, includeHidden: args.all };
    const { items } = await ask<{ items: readonly SandboxFile[] }>(api, 'GET', `${at}/files`, { query: asked }).catch(
      sayMissing(`${args.id} has no folder ${args.path}`, '`platform sandbox ls` lists the files.'),
    );
    print(shell, args.json, { sandbox: args.id, files: items }, () =>
      printTable(shell, {
        columns: ['path', 'type', 'size'],
        rows: items.map(({ path, type, size }) => [path, type, size === undefined ? null : formatBytes(size)]),
        empty: `${args.path ?? '/workspace'} of ${args.id} is empty`,
      }),
    );
  },
});
