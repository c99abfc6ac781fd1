// The connections of all pools of an engine: who shares one, who waits, and which are ended for others.
import assert from 'node:assert/strict';
import { lookup } from 'node:dns';
import { EventEmitter, once } from 'node:events';
import { afterEach, before, test } from 'node:test';
import { codeOf, message, MessageReader, startupMessage } from '#runtime/engine/bindings/pools/messages.ts';
import { Pools } from '#runtime/engine/bindings/pools/pools.ts';
import { parseServerAddress, type ServerAddress } from '#runtime/engine/bindings/pools/server-address.ts';
import { PoolSession } from '#runtime/engine/bindings/pools/session.ts';
import { poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

let address: ServerAddress;
let opened: Pools[] = [];
const opener = { lookup, charge: () => {} };
const never = new AbortController().signal;

before(async () => {
  address = parseServerAddress(poolUrl(await startPoolServer())) as ServerAddress;
});
afterEach(() => {
  for (const pools of opened) pools.close();
  opened = [];
});

function open(poolConnectionsMax: number, enginePoolConnectionsMax = 10): Pools {
  const deps = { policy: { loopback: true, private: false }, meter: { add() {} } };
  const pools = new Pools(deps, { poolConnectionsMax, enginePoolConnectionsMax, poolIdleMs: 60_000 });
  opened.push(pools);
  return pools;
}

const wanted = (namespace: string, preview: string | null = null, parameters: Record<string, string> = {}) => ({
  namespace,
  preview,
  address,
  parameters,
  opener,
});

test('a connection is shared by one project, branch, account and set of parameters', async () => {
  const pools = open(10);
  const first = await pools.take(wanted('shop'), never);
  pools.keep('shop', first);
  const others = [
    wanted('other'),
    wanted('shop', 'login'),
    wanted('shop', null, { application_name: 'x' }),
    { ...wanted('shop'), address: { ...address, id: 'another URL' } },
  ];
  for (const other of others) assert.notEqual(await pools.take(other, never), first);
  assert.equal(await pools.take(wanted('shop'), never), first);
});

test('a session waits for a connection of its project, and gets it in turn', async () => {
  const pools = open(1);
  const first = await pools.take(wanted('shop'), never);
  const order: string[] = [];
  const waiting = ['a', 'b'].map(async (name) => {
    const connection = await pools.take(wanted('shop'), never);
    order.push(name);
    return connection;
  });
  await pools.take(wanted('other'), never);
  assert.deepEqual(order, []);
  pools.keep('shop', first);
  assert.equal(await waiting[0], first);
  await pools.giveBack('shop', first);
  assert.equal(await waiting[1], first);
  assert.deepEqual(order, ['a', 'b']);
});

test('an idle connection with other parameters ends for one that is wanted', async () => {
  const pools = open(1);
  const first = await pools.take(wanted('shop'), never);
  pools.keep('shop', first);
  await pools.take(wanted('shop', null, { application_name: 'x' }), never);
  assert.equal(first.isClosed, true);
  assert.equal(pools.connections, 1);
});

test('a full engine ends the connection that is idle for longest, of any project', async () => {
  const pools = open(5, 2);
  const [old, recent] = [await pools.take(wanted('old'), never), await pools.take(wanted('recent'), never)];
  const waiting = pools.take(wanted('new'), never);
  pools.keep('old', old);
  await waiting;
  assert.deepEqual([old.isClosed, recent.isClosed, pools.connections], [true, false, 2]);
});

test('a session that ends while it waits gives its turn up, and a pool that closes refuses', async () => {
  const pools = open(1);
  const first = await pools.take(wanted('shop'), never);
  const leaving = new AbortController();
  const left = pools.take(wanted('shop'), leaving.signal);
  const stays = pools.take(wanted('shop'), never);
  leaving.abort();
  await assert.rejects(left, { kind: 'pool_refused', state: '57014' });
  pools.keep('shop', first);
  assert.equal(await stays, first);
  const last = pools.take(wanted('shop'), never);
  pools.close();
  await assert.rejects(last, { kind: 'pool_refused', state: '57P01' });
  await assert.rejects(pools.take(wanted('shop'), never), { kind: 'pool_refused', state: '57P01' });
  assert.equal(first.isClosed, true);
});

test('a server that is not there frees the place of its connection', async () => {
  const pools = open(1);
  const away = { ...wanted('shop'), address: { ...address, port: 1 } };
  for (let at = 0; at < 3; at++)
    await assert.rejects(pools.take(away, never), { kind: 'pool_refused', state: '08001' });
  assert.equal(pools.connections, 0);
});

test('each message of a session is charged, in both directions', async () => {
  const pools = open(1);
  let charged = 0;
  const counting = { lookup, charge: (ms: number) => void (charged += ms) };
  const session = new PoolSession({ pools, namespace: 'shop', preview: null, address, opener: counting });
  const ready = new EventEmitter();
  let count = 0;
  const readies = new MessageReader(
    (type) => void (type === codeOf('Z') && ready.emit(String(++count))),
    () => 0,
  );
  session.on('data', (chunk: Buffer) => readies.push(chunk));
  const first = once(ready, '1');
  const last = once(ready, '1001');
  session.write(startupMessage({ user: 'any' }));
  await first;
  charged = 0;
  // Each is answered with two messages.
  session.write(Buffer.concat(Array.from({ length: 1000 }, () => message('Q', 'rollback\0'))));
  await last;
  assert.equal(charged.toFixed(3), '0.600');
  session.destroy();
});
