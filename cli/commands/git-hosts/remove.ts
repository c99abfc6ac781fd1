// `platform git-hosts rm <host>`: removes a Git host with its accounts and connected repositories. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { hostOf } from './find.ts';

export const command = defineCommand({
  meta: { name: 'rm', description: 'Remove a Git host and disconnect its repositories (operators only)' },
  args: {
    host: { type: 'positional', required: true, description: 'Name or ID of the host' },
    ...yesFlag,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform git-hosts rm');
    const host = await hostOf(api, args.host);
    await confirm(
      shell,
      args.yes,
      `${host.name}, its accounts and its connected repositories will be removed. Deployments stay.`,
    );
    await ask(api, 'DELETE', `/git-hosts/${encodeURIComponent(host.id)}?disconnect=true`);
    print(shell, args.json, { removed: host.id }, () => shell.out(`${shell.paint('green', 'Removed')} ${host.name}`));
  },
});
