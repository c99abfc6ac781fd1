// `platform org list`: lists the user's organizations.
import { defineCommand } from 'citty';
import { organizationsOf } from '../../api/project.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List your organizations' },
  args: { ...platformFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform org list');
    const organizations = await organizationsOf(api);
    print(shell, args.json, { organizations }, () =>
      printTable(shell, {
        columns: ['slug', 'name', 'role', 'plan', 'id'],
        rows: organizations.map(({ slug, name, role, plan, id }) => [slug, name, role ?? null, plan, id]),
        empty: 'You are not a member of any organization',
      }),
    );
  },
});
