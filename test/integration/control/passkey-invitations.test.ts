// Joining by an invitation's link with a passkey: an account without a password, which exists once the passkey does.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  invitationCode,
  loginIn,
  makePerson,
  addPasskey,
  optionsOf,
  PASSKEY_INVITATION,
  signInWith,
} from '#test/setup/passkeys.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { createAuthenticator } from '#test/setup/software-authenticator.ts';

let site: TestSignIn;
before(async () => void (site = await startSignIn()));
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

/** The form that joins as somebody. */
async function formFor(
  browser: TestBrowser,
  code: string,
  username: string,
  authenticator = createAuthenticator(site.ui),
) {
  const options = await optionsOf(site, browser, PASSKEY_INVITATION, { code, username });
  return { code, ...authenticator.create(options) };
}

async function logins(prefix: string): Promise<string[]> {
  const rows = await site.deps.sql<{ login: string }[]>`
    SELECT login FROM control.account WHERE login LIKE ${`${prefix}%`} ORDER BY login`;
  return rows.map(({ login }) => login);
}

test('an invited person creates an account with a passkey, and signs in with it', async () => {
  const code = await invitationCode(site);
  const browser = site.browser();
  assert.match((await browser.visit(`/api/auth/invitation?code=${code}`)).text, /Use a passkey/);
  assert.match((await browser.visit(`${PASSKEY_INVITATION}?code=${code}`)).text, /Your account will have no password/);
  const authenticator = createAuthenticator(site.ui);
  const form = await formFor(browser, code, 'Grace', authenticator);
  assert.equal((await browser.submit(PASSKEY_INVITATION, form)).url, `${site.ui}/`);
  const user = (await (await browser.request('/api/user')).json()) as { login: string; organizations: object[] };
  assert.equal(user.login, 'Grace');
  assert.deepEqual(
    user.organizations.map((one) => (one as { role: string }).role),
    ['member'],
  );
  const ways = (await (await browser.request('/api/user/sign-in')).json()) as Record<string, unknown>;
  assert.deepEqual([ways['username'], ways['passkeys']], [null, 1]);
  const again = site.browser();
  await signInWith(site, authenticator, again);
  assert.equal(await loginIn(again), 'Grace');
  assert.match((await site.browser().visit(`${PASSKEY_INVITATION}?code=${code}`)).text, /Invitation not found/);
});

test('a refused username or passkey leaves the link open, and no account', async () => {
  const code = await invitationCode(site);
  const browser = site.browser();
  const { browser: other } = await makePerson(site, 'taken');
  const known = createAuthenticator(site.ui);
  await addPasskey(site, other, known);
  const refusals: [username: string, message: RegExp][] = [
    ['TAKEN', /This username is taken/],
    ['no spaces', /A username has letters/],
    ['', /A username has letters/],
  ];
  for (const [username, message] of refusals)
    await assert.rejects(optionsOf(site, browser, PASSKEY_INVITATION, { code, username }), message);
  const options = await optionsOf(site, browser, PASSKEY_INVITATION, { code, username: 'fresh' });
  const lies = [
    [{ origin: 'https://evil.example' }, /This passkey was refused/],
    [{ credentialId: known.credentialId() }, /started in another browser/],
  ] as const;
  // The second one finds the challenge used up.
  for (const [lie, message] of lies) {
    const form = { code, ...createAuthenticator(site.ui).create(options, lie) };
    assert.match((await browser.submit(PASSKEY_INVITATION, form)).text, message);
  }
  const next = await optionsOf(site, browser, PASSKEY_INVITATION, { code, username: 'fresh' });
  const copied = { code, ...createAuthenticator(site.ui).create(next, { credentialId: known.credentialId() }) };
  assert.match((await browser.submit(PASSKEY_INVITATION, copied)).text, /This passkey is registered already/);
  assert.deepEqual(await logins('fresh'), []);
  assert.equal((await browser.submit(PASSKEY_INVITATION, await formFor(browser, code, 'fresh'))).url, `${site.ui}/`);
});

test('a link joins one person, also of two at once, and no challenge is for another link', async () => {
  const [code, other] = [await invitationCode(site), await invitationCode(site)];
  const browsers = [site.browser(), site.browser()];
  const forms = await Promise.all(browsers.map((browser, n) => formFor(browser, code, `two-${n}`)));
  const answers = await Promise.all(browsers.map((browser, n) => browser.submit(PASSKEY_INVITATION, forms[n]!)));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 404]);
  assert.equal((await logins('two-')).length, 1);

  const browser = site.browser();
  const form = { ...(await formFor(browser, other, 'swapped')), code: await invitationCode(site) };
  assert.match((await browser.submit(PASSKEY_INVITATION, form)).text, /started in another browser/);
  await assert.rejects(optionsOf(site, browser, PASSKEY_INVITATION, { code, username: 'late' }), /used or revoked/);
  assert.deepEqual(await logins('swapped'), []);
});
