// Our own program that makes namespaces, started as the platform starts it for this user; test/ssr/ has the other way,
// and bubblewrap.
import assert from 'node:assert/strict';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { test } from 'node:test';
import { ownFence } from '#core/process/confinement/fence/program.ts';
import { fenceSuite, WAY_HERE } from './fence.ts';

await fenceSuite('own', WAY_HERE);

test('our own takes no word that it does not know, and says in a line what it cannot do', async (t) => {
  const fence = await ownFence();
  if (fence === null) return t.skip('there is none for this machine');
  const wrong = [
    ['--share-net', '--', 'true'],
    ['--unshare-pid', '--cap-add', 'CAP_SYS_ADMIN', '--', 'true'],
    ['--unshare-pid', '--unshare-user', '--cap-add', 'CAP_SETUID', '--', 'true'],
    ['--unshare-pid', '--bind', '/usr'],
    ['--unshare-pid', '--bind', '/usr', 'usr', '--', 'true'],
    ['--unshare-pid', '--perms', '9', '--dir', '/x', '--', 'true'],
    ['--unshare-pid', '--ro-bind', '/no/such/folder', '/x', '--', 'true'],
    ['--unshare-pid'],
    ['--', 'true'],
    ['--no-userns', 'true'],
    ['--no-userns', '--'],
    [],
  ];
  for (const words of wrong) {
    const ended: SpawnSyncReturns<string> = spawnSync(fence, words, { encoding: 'utf8' });
    assert.equal(ended.status, 1, words.join(' '));
    assert.match(ended.stderr, /^fence: .+\n$/, words.join(' '));
  }
});
