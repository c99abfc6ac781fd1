// Wrong passwords for a known username, from anywhere: they do not lock out browsers that have signed in before.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { loginIn, makePerson, PASSWORD } from '#test/setup/passkeys.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { withinWindow } from '#test/setup/window.ts';

const COOKIE = 'platform-known-browser';

let site: TestSignIn;
before(async () => void (site = await startSignIn()));
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

/** Tries passwords, each from another address. */
async function tryPasswords(browser: () => TestBrowser, username: string, passwords: readonly string[]) {
  const statuses: number[] = [];
  for (const password of passwords) {
    await site.deps.sql`DELETE FROM control.rate WHERE key LIKE 'password:%'`;
    statuses.push((await browser().submit('/api/auth/sign-in/password', { username, password })).status);
  }
  return statuses;
}

const wrong = (count: number): string[] => Array<string>(count).fill('wrong');

test('a browser that has signed in is not locked out by attempts elsewhere, and a new one is', async () => {
  const { browser } = await makePerson(site, 'grace');
  await browser.submit('/api/auth/sign-out', {});
  const stranger = site.browser();
  const statuses = await withinWindow(900, async () => {
    await site.deps.sql`DELETE FROM control.rate`;
    return [
      ...(await tryPasswords(() => site.browser(), 'grace', wrong(20))),
      ...(await tryPasswords(() => stranger, 'grace', [PASSWORD])),
      ...(await tryPasswords(() => browser, 'Grace', [PASSWORD])),
    ];
  });
  assert.deepEqual(statuses, [...Array<number>(20).fill(401), 429, 200]);
  assert.deepEqual([await loginIn(stranger), await loginIn(browser)], [null, 'grace']);
});

test('a known browser has twenty attempts of its own', async () => {
  const { browser } = await makePerson(site, 'ida');
  await browser.submit('/api/auth/sign-out', {});
  const statuses = await withinWindow(900, async () => {
    await site.deps.sql`DELETE FROM control.rate`;
    return tryPasswords(() => browser, 'ida', [...wrong(20), PASSWORD]);
  });
  assert.deepEqual(statuses, [...Array<number>(20).fill(401), 429]);
});

test('a cookie of another account, a forged, old or doubled one is worth nothing', async () => {
  const [{ browser: own }, { browser: other }] = [await makePerson(site, 'mary'), await makePerson(site, 'eve')];
  const [mine, theirs] = [own.cookies.get(COOKIE)!, other.cookies.get(COOKIE)!];
  const [nonce, expiresAt, signature] = mine.split('.');
  const forged = [
    theirs,
    `${nonce}.${Number(expiresAt) + 1}.${signature}`,
    `${'a'.repeat(24)}.${expiresAt}.${signature}`,
    `${nonce}.${expiresAt}.${theirs.split('.')[2]}`,
    `${nonce}.${expiresAt}`,
    `${mine}; ${COOKIE}=${mine}`,
  ];
  const statuses = await withinWindow(900, async () => {
    await site.deps.sql`DELETE FROM control.rate`;
    const tried = await tryPasswords(() => site.browser(), 'mary', wrong(20));
    for (const cookie of forged) {
      const browser = site.browser();
      browser.cookies.set(COOKIE, cookie);
      tried.push(...(await tryPasswords(() => browser, 'mary', [PASSWORD])));
    }
    return tried;
  });
  assert.deepEqual(statuses, [...Array<number>(20).fill(401), ...forged.map(() => 429)]);
});

test('the cookie opens no session, and stays when the person signs out', async () => {
  const { browser } = await makePerson(site, 'nora');
  const known = browser.cookies.get(COOKIE)!;
  await browser.submit('/api/auth/sign-out', {});
  assert.equal(browser.cookies.get(COOKIE), known);
  assert.equal(await loginIn(browser), null);
  const thief = site.browser();
  thief.cookies.set(COOKIE, known);
  assert.equal((await tryPasswords(() => thief, 'nora', ['wrong']))[0], 401);
  assert.equal(await loginIn(thief), null);
});
