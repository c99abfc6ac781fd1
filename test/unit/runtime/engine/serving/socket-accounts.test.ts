// The account of the WebSockets that an engine keeps for a project's objects lasts as long as one of the objects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { SocketAccounts } from '#runtime/engine/serving/objects/socket-accounts.ts';

test('objects of a project share an account, also after a while without sockets', () => {
  const accounts = new SocketAccounts(new EngineMemory({ hostMemoryMb: 1, engineHostMemoryMb: 1 }));
  const first = accounts.open('shop/objects');
  accounts.sweep();
  assert.equal(accounts.open('shop/objects'), first);
  first.objects -= 2;
  accounts.sweep();
  assert.notEqual(accounts.open('shop/objects'), first);
});
