// The contract of Git hosts in front of one control plane: Gitea and Forgejo.
import { after, before, test } from 'node:test';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import { tokenContract } from '#test/setup/contract-hosts.ts';
import { giteaDialect } from '#test/setup/token-hosts/gitea.ts';
import { gitHostsContract } from './git-hosts.ts';

let connected: ConnectedHost;
before(async () => {
  connected = await startConnectedHost({ GIT_REMOTE_PRIVATE_HOSTS: '127.0.0.1' });
});
after(() => connected.close());

test('Gitea and Forgejo keep the contract, at once', async (t) => {
  await gitHostsContract(t, connected, [
    await tokenContract(connected, 'gitea', 'Gitea', giteaDialect),
    await tokenContract(connected, 'forgejo', 'Forgejo', giteaDialect),
  ]);
});
