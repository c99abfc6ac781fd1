// The cache over a real Redis server.
import { test } from 'node:test';
import { setTimeout as pass } from 'node:timers/promises';
import { openCacheRedis } from '#runtime/stores/cache-redis.ts';
import { noRedis, startRedis } from '#test/setup/redis.ts';
import { testCacheStore } from './cache-store.ts';

if (noRedis === false) {
  testCacheStore('redis', async () => {
    const server = await startRedis();
    const store = await openCacheRedis(`redis://127.0.0.1:${server.port}`, () => {});
    return {
      store,
      // Redis has a clock of its own.
      pass,
      async close() {
        await store.close();
        await server.close();
      },
    };
  });
} else {
  test('redis: the suite of caches', { skip: noRedis }, () => {});
}
