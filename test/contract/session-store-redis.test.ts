// The suite of session stores over a real Redis, where there is one.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openLog } from '#core/log/log.ts';
import { openSignIn } from '#control/sign-in/open.ts';
import { openRedisSessions } from '#control/sessions/session-store-redis.ts';
import { noRedis, startRedis } from '#test/setup/redis.ts';
import { testSessionStore } from './session-store.ts';

if (noRedis === false) {
  let redis: Awaited<ReturnType<typeof startRedis>>;
  before(async () => {
    redis = await startRedis();
  });
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

test('a Redis that cannot be reached ends the start, and its URL is in no message', async () => {
  const settings = {
    cacheUrl: 'redis://:hunter2@127.0.0.1:1',
    authSecret: '0123456789abcdef0123456789abcdef',
    gitHost: { url: 'https://git.example', apiUrl: 'https://git.example/api/v3', oauth: null },
    oidc: null,
    signUp: 'invited',
    signInWays: [],
  } as const;
  const lines: string[] = [];
  const log = openLog('test', {}, { write: (line: string) => void lines.push(line) });
  await assert.rejects(openSignIn(settings, undefined as never, log, 300), (error: Error) => {
    assert.match(error.message, /^CACHE_URL cannot be reached \(ECONNREFUSED\): check the server/);
    return true;
  });
  assert.doesNotMatch(lines.join(''), /hunter2/);
});
