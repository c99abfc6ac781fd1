// `platform sandbox ports <id>`: lists the exposed ports of a sandbox.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';

/** An exposed port in the format of the API; `token` is returned only by expose. */
export interface ExposedPort {
  readonly url: string;
  readonly port: number;
  readonly name: string | null;
  readonly auth: string;
  readonly token?: string;
}

export const command = defineCommand({
  meta: { name: 'ports', description: 'List the exposed ports of a sandbox' },
  args: { ...sandboxId, ...sandboxFlags },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query } = await needSandbox(shell, args, 'platform sandbox ports');
    const { items } = await ask<{ items: readonly ExposedPort[] }>(api, 'GET', `${path}/ports`, { query });
    print(shell, args.json, { sandbox: args.id, ports: items }, () =>
      printTable(shell, {
        columns: ['port', 'name', 'auth', 'url'],
        rows: items.map(({ port, name, auth, url }) => [String(port), name, auth, url]),
        empty: `${args.id} has no exposed ports: \`platform sandbox expose ${args.id} <port>\``,
      }),
    );
  },
});
