// `platform domains rm <hostname>`: removes a custom domain from a project.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { domainOf } from './find.ts';

export const command = defineCommand({
  meta: { name: 'rm', description: 'Remove a custom domain' },
  args: {
    hostname: { type: 'positional', required: true, description: 'The domain' },
    ...yesFlag,
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform domains rm');
    const { id, hostname } = await domainOf(api, project, args.hostname);
    await confirm(shell, args.yes, `${hostname} will no longer serve ${project.name}.`);
    await ask(api, 'DELETE', `/domains/${encodeURIComponent(id)}`);
    print(shell, args.json, { removed: hostname }, () => shell.out(`${shell.paint('green', 'Removed')} ${hostname}`));
  },
});
