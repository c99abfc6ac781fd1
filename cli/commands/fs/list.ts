// `platform fs ls [path]`: lists folders and files of a file storage.
import { defineCommand } from 'citty';
import { needResource, resourceFlags } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print, printTable } from '../../terminal/table.ts';

interface StoredFile {
  readonly key: string;
  readonly size: number;
  readonly uploadedAt: number;
}

interface Page {
  readonly items: readonly StoredFile[];
  readonly folders: readonly string[];
  readonly nextCursor: string | null;
}

const PAGES_MAX = 100;

export const command = defineCommand({
  meta: { name: 'ls', description: 'List files and folders' },
  args: {
    path: { type: 'positional', required: false, description: 'Folder or key prefix (default: the root)' },
    storage: {
      type: 'string',
      alias: 's',
      valueHint: 'name',
      description: 'Binding or name of the file storage (default: the only one)',
    },
    recursive: { type: 'boolean', alias: 'r', description: 'Include the contents of folders' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needResource(shell, args, 'fs', args.storage, 'platform fs ls');
    const files: StoredFile[] = [];
    const folders: string[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < PAGES_MAX; page++) {
      const delimiter = args.recursive === true ? undefined : '/';
      const asked = { ...query, prefix: args.path, delimiter, cursor, limit: 1000 };
      const found: Page = await ask<Page>(api, 'GET', path, { query: asked });
      files.push(...found.items);
      folders.push(...found.folders);
      cursor = found.nextCursor;
      if (cursor === null) break;
    }
    print(shell, args.json, { storage: binding, folders, files, truncated: cursor !== null }, () =>
      printTable(shell, {
        columns: ['name', 'size', 'written'],
        rows: [
          ...folders.map((name) => [name, null, null]),
          ...files.map(({ key, size, uploadedAt }) => [key, formatBytes(size), new Date(uploadedAt).toISOString()]),
        ],
        empty: `${binding} has no files${args.path === undefined ? '' : ` under ${args.path}`}`,
      }),
    );
  },
});
