// `platform git-hosts oauth <host> [client-id]`: sets the OAuth application of a Git host with the secret from standard
// input, or shows how to create one. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { hostOf, type GitHost } from './find.ts';

export const command = defineCommand({
  meta: { name: 'oauth', description: 'Set the OAuth application of a Git host (operators only)' },
  args: {
    host: { type: 'positional', required: true, description: 'Name or ID of the host' },
    clientId: { type: 'positional', required: false, description: 'Its client ID; none: shows how to create it' },
    rm: { type: 'boolean', description: 'Remove it' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform git-hosts oauth');
    const host = await hostOf(api, args.host);
    const path = `/git-hosts/${encodeURIComponent(host.id)}/oauth`;
    if (args.rm === true) {
      await ask(api, 'DELETE', path);
      print(shell, args.json, { removed: host.id }, () =>
        shell.out(`${shell.paint('green', 'Removed')} the OAuth application of ${host.name}`),
      );
      return;
    }
    const { clientId } = args;
    if (clientId === undefined) {
      print(shell, args.json, host.oauth, () => {
        shell.out(`Create it ${host.oauth.advice}.`);
        shell.out(`  redirect URL: ${host.oauth.redirectUrl}`);
        if (host.oauth.scopes !== '') shell.out(`  scopes: ${host.oauth.scopes}`);
        shell.out(`  then: platform git-hosts oauth ${host.name} <client-id> < secret.txt`);
      });
      return;
    }
    const clientSecret = Buffer.from(await shell.input())
      .toString()
      .trim();
    if (clientSecret === '')
      throw new CliError('Standard input has no secret', {
        exitCode: 2,
        advice: 'Pass the client secret on standard input.',
      });
    const set = await ask<GitHost>(api, 'PUT', path, { body: { clientId, clientSecret } });
    print(shell, args.json, set, () => {
      shell.out(`${shell.paint('green', 'Saved')}: members connect accounts on the page Git hosts, without a token`);
    });
  },
});
