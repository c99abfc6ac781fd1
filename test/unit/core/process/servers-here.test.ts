// Whether servers for Node are run here, by what confines them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noServers } from '#core/process/confinement/servers-here.ts';

test('servers are refused without namespaces, and in namespaces with the network of the machine', () => {
  assert.equal(noServers({ kind: 'namespaces', reason: null }), null);
  const refused = /^Servers for Node \(kind: ssr, such as Next\.js\) are refused: .*\. no way$/;
  assert.match(noServers({ kind: 'user', reason: 'no way' }) ?? '', refused);
  assert.match(noServers({ kind: 'namespaces', reason: 'no way', sharesNetwork: true }) ?? '', refused);
});
