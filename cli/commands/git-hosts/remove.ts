// `platform git-hosts rm <host>`: removes a Git host with its accounts and connected repositories. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { GITHUB, hostOf } from './find.ts';

export const command = defineCommand({
  meta: { name: 'rm', description: 'Remove a Git host and disconnect its repositories (operators only)' },
  args: {
    host: { type: 'positional', required: true, description: 'Name or ID of the host, or github' },
    ...yesFlag,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform git-hosts rm');
    if (args.host.toLowerCase() === GITHUB) {
      const what = 'The GitHub App and the repositories that it connects will be removed. Deployments stay.';
      await confirm(shell, args.yes, what);
      await ask(api, 'DELETE', '/git-host/application?disconnect=true');
      print(shell, args.json, { removed: GITHUB }, () =>
        shell.out(`${shell.paint('green', 'Removed')} the GitHub App`),
      );
      return;
    }
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
