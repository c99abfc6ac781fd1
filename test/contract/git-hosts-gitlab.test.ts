// The contract of Git hosts in front of one control plane: GitHub, GitLab and Bitbucket.
import { after, before, test } from 'node:test';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import { githubContract, tokenContract } from '#test/setup/contract-hosts.ts';
import { bitbucketDialect } from '#test/setup/token-hosts/bitbucket.ts';
import { gitlabDialect } from '#test/setup/token-hosts/gitlab.ts';
import { gitHostsContract } from './git-hosts.ts';

let connected: ConnectedHost;
before(async () => {
  connected = await startConnectedHost({ GIT_REMOTE_PRIVATE_HOSTS: '127.0.0.1' });
});
after(() => connected.close());

test('GitHub, GitLab and Bitbucket keep the contract, at once', async (t) => {
  await gitHostsContract(t, connected, [
    githubContract(connected),
    await tokenContract(connected, 'gitlab', 'GitLab', gitlabDialect),
    await tokenContract(connected, 'bitbucket', 'Bitbucket', bitbucketDialect),
  ]);
});
