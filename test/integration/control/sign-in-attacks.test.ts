// Attacks that each way to sign in at these pages must hold: sessions planted before, redirects to other sites, and
// work or answers that tell which usernames exist. The Git host is in sign-in.test.ts, OpenID Connect in oidc-attacks.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { codeOf } from '#control/access/totp.ts';
import { createUi } from '#control/sign-in/ui.ts';
import { openHttpReceiver } from '#test/setup/http-receiver.ts';
import { addPasskey, loginIn, makePerson, optionsOf, PASSKEY_SIGN_IN, PASSWORD } from '#test/setup/passkeys.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { createAuthenticator, type Authenticator } from '#test/setup/software-authenticator.ts';

const SESSION = 'platform-session';

let site: TestSignIn;
let authenticator: Authenticator;
before(async () => {
  site = await startSignIn();
  authenticator = createAuthenticator(site.ui);
  const { browser } = await makePerson(site, 'grace');
  await addPasskey(site, browser, authenticator);
});
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

/** Each way to sign in as grace, or with a token as the owner. */
const ways: Readonly<Record<string, (browser: TestBrowser, redirect: string) => Promise<{ url: string }>>> = {
  password: (browser, redirect) =>
    browser.submit('/api/auth/sign-in/password', { username: 'grace', password: PASSWORD, redirect }),
  token: (browser, redirect) =>
    browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token, redirect }),
  passkey: async (browser, redirect) => {
    const fields = authenticator.get(await optionsOf(site, browser, PASSKEY_SIGN_IN));
    return browser.submit(PASSKEY_SIGN_IN, { redirect, ...fields });
  },
};

for (const [way, signIn] of Object.entries(ways)) {
  test(`a session that was planted before a sign-in by ${way} ends, and is not the one after`, async () => {
    const { browser: attacker } = await makePerson(site, `attacker-${way}`);
    const victim = site.browser();
    victim.cookies.set(SESSION, attacker.cookies.get(SESSION)!);
    await signIn(victim, '/');
    assert.equal(await loginIn(victim), way === 'token' ? 'ada' : 'grace');
    assert.notEqual(victim.cookies.get(SESSION), attacker.cookies.get(SESSION));
    assert.equal(await loginIn(attacker), null);
  });

  test(`a sign-in by ${way} leads to no other site`, async () => {
    const elsewhere = [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      '/.//evil.example',
      'javascript:alert(1)',
    ];
    for (const redirect of elsewhere) {
      await site.deps.sql`DELETE FROM control.rate`;
      const browser = site.browser();
      assert.equal((await signIn(browser, redirect)).url, `${site.ui}/`, redirect);
      // So does the page, for whom is signed in.
      const page = await browser.visit(`/api/auth/sign-in?${new URLSearchParams({ redirect })}`);
      assert.equal(page.url, `${site.ui}/`, redirect);
    }
  });
}

test('a sign-in with two factors leads to no other site', async () => {
  const { browser } = await makePerson(site, 'ida');
  const { text } = await browser.submit('/api/auth/two-factor/begin', { current: PASSWORD });
  const shown = /<code>([A-Z2-7 ]+)<\/code>/.exec(text)![1]!.replaceAll(' ', '');
  const secret = fromBase32(shown);
  const code = (): string => codeOf(secret, Math.floor(Date.now() / 30_000));
  await browser.submit('/api/auth/two-factor/confirm', { code: code() });
  await site.deps.sql`UPDATE control.second_factor SET last_step = last_step - 2`;
  const again = site.browser();
  const form = { username: 'ida', password: PASSWORD, redirect: '//evil.example' };
  await again.submit('/api/auth/sign-in/password', form);
  assert.equal((await again.submit('/api/auth/sign-in/code', { code: code() })).url, `${site.ui}/`);
});

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  return Buffer.from(
    bits
      .join('')
      .match(/.{8}/g)!
      .map((byte) => Number.parseInt(byte, 2)),
  );
}

test('a password is hashed once for each attempt, whether or not the username exists', async () => {
  await makePerson(site, 'known');
  const hashed: (string | null)[] = [];
  const { passwords } = site.deps.signIn;
  const counting = {
    ...passwords,
    async verify(password: string, hash: string | null): Promise<boolean> {
      const isRight = await passwords.verify(password, hash);
      hashed.push(hash === null ? 'of nobody' : 'of an account');
      return isRight;
    },
  };
  const ui = createUi(
    { ...site.forPages, signIn: { ...site.deps.signIn, passwords: counting } },
    () => new Response('never'),
  );
  const answers: string[] = [];
  for (const username of ['known', 'nobody-here']) {
    const body = new URLSearchParams({ username, password: 'wrong password' });
    const response = await ui(
      new Request(`${site.ui}/api/auth/sign-in/password`, { method: 'POST', headers: { origin: site.ui }, body }),
    );
    answers.push(`${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`);
  }
  assert.equal(answers[0], answers[1]);
  assert.deepEqual(hashed, ['of an account', 'of nobody']);
});

test('a recovery is answered before its mail is sent', async (t) => {
  const receiver = await openHttpReceiver();
  t.after(() => receiver.goAway());
  const { accountId } = await makePerson(site, 'mailed');
  await site.deps.sql`
    UPDATE control.account SET email = 'mailed@example.com', email_proven_at = now() WHERE id = ${accountId}`;
  const waiting = Promise.withResolvers<ServerResponse>();
  receiver.answer = waiting.resolve;
  site.control.mailBy(receiver.url);
  t.after(() => site.control.mailBy(null));
  // The mail server answers nothing until the page has been shown.
  const page = await site.browser().submit('/api/auth/recovery', { username: 'mailed' });
  assert.match(page.text, /a link is on its way to it/);
  const response = await waiting.promise;
  response.end();
  await once(response, 'close');
});
