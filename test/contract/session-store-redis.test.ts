// The suite of session stores over a real Redis, where there is one.
import { after, test } from 'node:test';
import { openRedisSessions } from '#control/sign-in/session-store-redis.ts';
import { noRedis, startRedis } from '#test/setup/redis.ts';
import { testSessionStore } from './session-store.ts';

if (noRedis === false) {
  const redis = await startRedis();
  after(() => redis.close());
  let cases = 0;
  testSessionStore('redis', async () => {
    const store = await openRedisSessions(`redis://127.0.0.1:${redis.port}`, () => {});
    cases++;
    return { store, accounts: [`usr_ada${cases}`, `usr_bob${cases}`], close: () => store.close() };
  });
} else {
  test('redis: the suite of session stores', { skip: noRedis }, () => {});
}
