// `platform org create <name>`: creates an organization, owned by the caller.
import { defineCommand } from 'citty';
import type { Organization } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'create', description: 'Create an organization' },
  args: {
    name: { type: 'positional', required: true, description: 'Name' },
    slug: { type: 'string', valueHint: 'slug', description: 'Slug (default: derived from the name)' },
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
