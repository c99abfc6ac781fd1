// `platform git-hosts connect <host>`: connects an account on a Git host by an access token from standard input, or
// prints the page that connects one without a token.
import { defineCommand } from 'citty';
import { organizationOf, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print } from '../../terminal/table.ts';
import { hostOf, type GitAccount } from './find.ts';

export const command = defineCommand({
  meta: {
    name: 'connect',
    description: 'Connect an account by the access token on standard input, or replace its token',
  },
  args: {
    host: { type: 'positional', required: true, description: 'Name or ID of the host' },
    browser: { type: 'boolean', description: 'Print the page that connects an account without a token' },
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform git-hosts connect');
    const { id: organizationId, slug } = await organizationOf(api, args.org);
    const host = await hostOf(api, args.host);
    if (args.browser === true) {
      if (host.connectUrl === null)
        throw new CliError(`${host.name} has no OAuth application`, {
          advice:
            'An operator sets the OAuth application with `platform git-hosts oauth`, or connect the account by an access token.',
        });
      const url = `${host.connectUrl}?${new URLSearchParams({ organization: organizationId })}`;
      return print(shell, args.json, { url }, () => shell.out(`Open this page to connect an account: ${url}`));
    }
    const token = Buffer.from(await shell.input())
      .toString()
      .trim();
    if (token === '')
      throw new CliError('Standard input has no token', { exitCode: 2, advice: `Create ${host.tokenAdvice}.` });
    const path = `/git-hosts/${encodeURIComponent(host.id)}/accounts`;
    const account = await ask<GitAccount>(api, 'POST', path, { body: { organizationId, token } });
    print(shell, args.json, account, () => {
      const until = formatTime(account.expiresAt);
      const end = until === null ? '' : `; the token expires ${until}`;
      shell.out(`${shell.paint('green', 'Connected')} ${account.login} on ${host.name} to ${slug}${end}`);
    });
  },
});
