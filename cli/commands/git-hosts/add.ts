// `platform git-hosts add <kind> <name>`: adds a Git host that is used with access tokens. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import type { GitHost } from './find.ts';

export const command = defineCommand({
  meta: { name: 'add', description: 'Add a Git host (operators only)' },
  args: {
    kind: { type: 'positional', required: true, description: 'gitlab, gitea, forgejo or bitbucket' },
    name: { type: 'positional', required: true, description: 'Name of the host' },
    url: { type: 'string', valueHint: 'url', description: 'Its URL (default: the public service of the kind)' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { kind, name, url } = args;
    const api = await needApi(shell, args, 'platform git-hosts add');
    const body = { kind, name, ...(url !== undefined && { url }) };
    const host = await ask<GitHost>(api, 'POST', '/git-hosts', { body });
    print(shell, args.json, host, () => {
      shell.out(`${shell.paint('green', 'Added')} ${host.name}: ${host.url}`);
      shell.out(`  create ${host.tokenAdvice},`);
      shell.out(`  then: platform git-hosts connect ${host.name} < token.txt`);
    });
  },
});
