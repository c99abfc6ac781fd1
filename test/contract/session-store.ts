// What every store of sessions does: the suite that session-store-*.test.ts run over each.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createSessions } from '#control/sessions/sessions.ts';
import type { SessionStore } from '#control/sessions/session-store.ts';

/** A store, and accounts that exist. */
interface SessionStoreCase {
  readonly store: SessionStore;
  readonly accounts: readonly [string, string];
  close(): Promise<void>;
}

const SECRET = '0123456789abcdef0123456789abcdef';
const DAY_MS = 86_400_000;

export function testSessionStore(name: string, open: () => Promise<SessionStoreCase>): void {
  const title = (fact: string): string => `${name}: ${fact}`;
  const start = Date.now();
  let now = start;

  async function withSessions(
    work: (sessions: ReturnType<typeof createSessions>, one: SessionStoreCase) => Promise<void>,
  ): Promise<void> {
    const one = await open();
    now = start;
    try {
      await work(
        createSessions(one.store, SECRET, () => new Date(now)),
        one,
      );
    } finally {
      await one.close();
    }
  }

  test(title('a session is found by its cookie, with who opened it from where'), () =>
    withSessions(async (sessions, { accounts: [ada] }) => {
      const value = await sessions.open({
        accountId: ada,
        userAgent: 'x'.repeat(500),
        address: '192.0.2.1',
        tokenId: 'tok_1',
      });
      const found = (await sessions.find(value))!;
      assert.match(found.id, /^ses_[0-9a-f]{20}$/);
      assert.deepEqual(
        { ...found, id: '' },
        {
          id: '',
          accountId: ada,
          createdAt: new Date(start),
          expiresAt: new Date(start + 14 * DAY_MS),
          userAgent: 'x'.repeat(200),
          address: '192.0.2.1',
          tokenId: 'tok_1',
        },
      );
    }),
  );

  test(title('a session that is not used ends after two weeks'), () =>
    withSessions(async (sessions, { accounts: [ada] }) => {
      const value = await sessions.open({ accountId: ada, userAgent: null, address: null, tokenId: null });
      now = start + 14 * DAY_MS - 1;
      assert.notEqual(await sessions.find(value), null);
      now++;
      assert.equal(await sessions.find(value), null);
      assert.equal(await sessions.renew(value), null);
      assert.deepEqual(await sessions.list(ada), []);
    }),
  );

  test(
    title('the secret changes after a day; of several requests one changes it, and the old one holds a minute'),
    () =>
      withSessions(async (sessions, { accounts: [ada] }) => {
        const value = await sessions.open({ accountId: ada, userAgent: null, address: null, tokenId: null });
        now = start + DAY_MS - 1;
        assert.equal(await sessions.renew(value), null);
        now++;
        const renewed = await Promise.all([1, 2, 3].map(() => sessions.renew(value)));
        const [next, ...more] = renewed.filter((one) => one !== null);
        assert.deepEqual(more, []);
        assert.equal((await sessions.find(next!))!.createdAt.getTime(), start);
        assert.equal((await sessions.list(ada)).length, 1);
        now += 59_999;
        assert.notEqual(await sessions.find(value), null);
        now++;
        assert.equal(await sessions.find(value), null);
        assert.notEqual(await sessions.find(next!), null);
      }),
  );

  test(title('no session lives longer than ninety days'), () =>
    withSessions(async (sessions, { accounts: [ada] }) => {
      let value = await sessions.open({ accountId: ada, userAgent: null, address: null, tokenId: null });
      for (let day = 10; day < 90; day += 10) {
        now = start + day * DAY_MS;
        value = (await sessions.renew(value)) ?? value;
      }
      now = start + 90 * DAY_MS - 1;
      assert.notEqual(await sessions.find(value), null);
      now++;
      assert.equal(await sessions.find(value), null);
    }),
  );

  test(title('a session ends by its cookie, by its id, or with all of its account, and no other does'), () =>
    withSessions(async (sessions, { accounts: [ada, bob] }) => {
      const [one, two, three] = await Promise.all(
        [1, 2, 3].map(() => sessions.open({ accountId: ada, userAgent: null, address: null, tokenId: null })),
      );
      const other = await sessions.open({ accountId: bob, userAgent: null, address: null, tokenId: null });
      await sessions.end(one!);
      assert.equal(await sessions.find(one!), null);
      const { id } = (await sessions.find(two!))!;
      assert.equal(await sessions.endOne(bob, id), false);
      assert.equal(await sessions.endOne(ada, id), true);
      assert.equal(await sessions.endOne(ada, id), false);
      assert.equal(await sessions.find(two!), null);
      assert.equal((await sessions.list(ada)).length, 1);
      await sessions.endAll(ada);
      assert.equal(await sessions.find(three!), null);
      assert.notEqual(await sessions.find(other), null);
    }),
  );

  test(title('a sweep forgets what has expired, and nothing else'), () =>
    withSessions(async (sessions, { accounts: [ada] }) => {
      const old = await sessions.open({ accountId: ada, userAgent: null, address: null, tokenId: null });
      now = start + DAY_MS;
      const young = await sessions.open({ accountId: ada, userAgent: null, address: null, tokenId: null });
      now = start + 14 * DAY_MS;
      await sessions.sweep();
      assert.equal(await sessions.find(old), null);
      assert.notEqual(await sessions.find(young), null);
    }),
  );

  test(title('a cookie that we have not signed is not looked up'), () =>
    withSessions(async (sessions, { accounts: [ada], store }) => {
      const value = await sessions.open({ accountId: ada, userAgent: null, address: null, tokenId: null });
      const [text, signature] = value.split('.') as [string, string];
      const forged = [
        text,
        `${text}.`,
        `${text}.${'A'.repeat(43)}`,
        `${randomBytes(32).toString('base64url')}.${signature}`,
        `${value}x`,
        ` ${value}`,
        `${signature}.${text}`,
        '',
      ];
      for (const one of forged) assert.equal(await sessions.find(one), null, one);
      const elsewhere = createSessions(store, `${SECRET}x`, () => new Date(now));
      assert.equal(await elsewhere.find(value), null);
      assert.notEqual(await sessions.find(value), null);
    }),
  );
}
