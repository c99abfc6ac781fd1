// `platform git-hosts add <kind> [name]`: adds a Git host, or prints the page that creates the GitHub App. For
// operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { CliError } from '../../terminal/failure.ts';
import { print } from '../../terminal/table.ts';
import { GITHUB, type AppStatus, type GitHost } from './find.ts';

export const command = defineCommand({
  meta: { name: 'add', description: 'Add a Git host (operators only)' },
  args: {
    kind: { type: 'positional', required: true, description: 'github, gitlab, gitea, forgejo or bitbucket' },
    name: { type: 'positional', required: false, description: 'Name of the host; none for github' },
    url: { type: 'string', valueHint: 'url', description: 'URL of the host (default: the public service of the kind)' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { kind, name, url } = args;
    const api = await needApi(shell, args, 'platform git-hosts add');
    if (kind === GITHUB) {
      const { createUrl, source } = await ask<AppStatus>(api, 'GET', '/git-host/status');
      if (createUrl === null)
        throw new CliError(
          `The platform has a GitHub App (${source === 'platform' ? 'created in the dashboard' : 'set by variables'})`,
          {
            advice:
              'Remove the GitHub App first: `platform git-hosts rm github`, or the variables GITHOST_APP_ID and GITHOST_CLIENT_ID.',
          },
        );
      const address = url === undefined ? createUrl : `${createUrl}?${new URLSearchParams({ url })}`;
      return print(shell, args.json, { createUrl: address }, () =>
        shell.out(`Open this page to create the GitHub App: ${address}`),
      );
    }
    if (name === undefined)
      throw new CliError('The host needs a name', { exitCode: 2, advice: 'platform git-hosts add <kind> <name>' });
    const body = { kind, name, ...(url !== undefined && { url }) };
    const host = await ask<GitHost>(api, 'POST', '/git-hosts', { body });
    print(shell, args.json, host, () => {
      shell.out(`${shell.paint('green', 'Added')} ${host.name}: ${host.url}`);
      shell.out(`  create ${host.tokenAdvice},`);
      shell.out(`  then: platform git-hosts connect ${host.name} < token.txt`);
    });
  },
});
