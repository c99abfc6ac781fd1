// `platform git-hosts check <host>`: shows the problems of a Git host. Only operators can run the command, which fails
// if the host has problems.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { hostOf } from './find.ts';

interface Status {
  readonly accounts: number;
  readonly repositories: number;
  readonly waitingReports: number;
  readonly problems: readonly string[];
}

export const command = defineCommand({
  meta: { name: 'check', description: 'Show the problems of a Git host (operators only)' },
  args: {
    host: { type: 'positional', required: true, description: 'Name or ID of the host' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform git-hosts check');
    const host = await hostOf(api, args.host);
    const status = await ask<Status>(api, 'GET', `/git-hosts/${encodeURIComponent(host.id)}/status`);
    print(shell, args.json, status, () => {
      shell.out(`${host.name}: ${status.accounts} accounts, ${status.repositories} repositories`);
      for (const problem of status.problems) shell.out(`  ${problem}`);
    });
    if (status.problems.length > 0) throw new CliError(`${host.name} has ${status.problems.length} problems`);
  },
});
