// `platform org storage delete <name>`: removes the data of a deleted project now instead of after its retention.
import { defineCommand } from 'citty';
import { organizationOf, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'delete', description: 'Remove the data of a deleted project now' },
  args: {
    name: { type: 'positional', required: true, description: 'Name of the deleted project' },
    ...yesFlag,
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform org storage delete');
    const { id, slug } = await organizationOf(api, args.org);
    const { name } = args;
    await confirm(shell, args.yes, `All data of the deleted project ${name} in ${slug} will be removed.`, name);
    const path = `/orgs/${encodeURIComponent(id)}/storage/${encodeURIComponent(name)}`;
    const answer = await ask<{ readonly state: string }>(api, 'DELETE', path);
    const words = answer.state === 'removed' ? 'is already removed' : 'is being removed';
    print(shell, args.json, { name, state: answer.state }, () => shell.out(`The data of ${name} ${words}`));
  },
});
