// `platform org create <name>`: makes an organization; who makes it owns it.
import { defineCommand } from 'citty';
import type { Organization } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'create', description: 'Make an organization' },
  args: {
    name: { type: 'positional', required: true, description: 'Its name' },
    slug: { type: 'string', valueHint: 'slug', description: 'Its short name (default: made from the name)' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform org create');
    const { name } = args;
    const body = { name, ...(args.slug !== undefined && { slug: args.slug }) };
    const made = await ask<Organization>(api, 'POST', '/orgs', { body });
    print(shell, args.json, made, () => shell.out(`${shell.paint('green', 'Created')} ${made.name} (${made.slug})`));
  },
});
