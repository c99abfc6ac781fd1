// What engines may do in Redis: read and write the cache, and nothing beside it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from 'redis';
import { openCacheRedis } from '#runtime/stores/cache-redis.ts';
import { openCacheUser } from '#runtime/supervisor/services/cache-user.ts';
import { noRedis, startRedis } from '#test/setup/redis.ts';

test('the user of engines reaches the cache, and no session', { skip: noRedis }, async () => {
  const server = await startRedis(['--requirepass', 'owners-password']);
  const owner = `redis://:owners-password@127.0.0.1:${server.port}`;
  const url = await openCacheUser(owner);
  assert.equal(await openCacheUser(owner), url);
  assert.ok(!url.includes('owners-password'));
  const cache = await openCacheRedis(url, () => {});
  await cache.set('shop', 'key', { head: 'head', body: null }, 10_000);
  assert.deepEqual(await cache.get('shop', 'key'), { head: 'head', body: null });
  await cache.close();

  const client = createClient({ url, disableClientInfo: true });
  await client.connect();
  for (const command of [
    ['GET', 'session:1'],
    ['SET', 'session:1', 'x'],
    ['KEYS', '*'],
    ['FLUSHALL'],
    ['CONFIG', 'GET', '*'],
    ['ACL', 'LIST'],
  ])
    await assert.rejects(client.sendCommand(command), /NOPERM/, command.join(' '));
  client.destroy();
  await server.close();
});

test('an address that is none, and a server that is not there, are named', async () => {
  await assert.rejects(openCacheUser('memcached://host'), {
    message: 'CACHE_URL must have the form redis://user:password@host:port',
  });
  await assert.rejects(
    openCacheUser('redis://127.0.0.1:1'),
    /^Error: The cache at 127\.0\.0\.1:1 \(CACHE_URL\) cannot be reached/,
  );
});
