// `platform git-hosts list`: lists the Git hosts, and the accounts on them that an organization has connected.
import { defineCommand } from 'citty';
import { organizationOf, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print, printTable } from '../../terminal/table.ts';
import { hostsOf, type GitAccount } from './find.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List the Git hosts, and the accounts of an organization on them' },
  args: { org: targetFlags.org, ...platformFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform git-hosts list');
    const { id, slug } = await organizationOf(api, args.org);
    const hosts = await hostsOf(api);
    const query = new URLSearchParams({ organizationId: id });
    const { accounts } = await ask<{ accounts: readonly GitAccount[] }>(api, 'GET', `/git-accounts?${query}`);
    print(shell, args.json, { organization: slug, hosts, accounts }, () =>
      printTable(shell, {
        columns: ['name', 'kind', 'url', 'account', 'token expires', 'problem'],
        rows: hosts.flatMap((host) => {
          const own = accounts.filter(({ hostId }) => hostId === host.id);
          const cells = [host.name, host.kind, host.url];
          if (own.length === 0) return [[...cells, null, null, null]];
          return own.map(({ login, expiresAt, problem }) => [...cells, login, formatTime(expiresAt), problem]);
        }),
        empty:
          'No Git hosts are used with access tokens: an operator adds a host with `platform git-hosts add <kind> <name>`',
      }),
    );
  },
});
