// People with passkeys: accounts whose browser has just signed in, and the steps of their pages.
import assert from 'node:assert/strict';
import type { TestBrowser, TestSignIn } from './signed-in.ts';
import type { Authenticator, PasskeyOptions } from './software-authenticator.ts';

export const PASSKEY_SIGN_IN = '/api/auth/sign-in/passkey';
export const PASSKEY_PAGE = '/api/auth/passkeys';
export const PASSKEY_INVITATION = '/api/auth/invitation/passkey';
export const PASSWORD = 'violet tin umbrella';

/** An account with a password and no token, signed in. */
export async function makePerson(
  site: TestSignIn,
  username: string,
): Promise<{ browser: TestBrowser; accountId: string }> {
  const { accountId } = await site.control.account(username);
  await site.deps.sql`DELETE FROM control.token WHERE account_id = ${accountId}`;
  const hash = await site.deps.signIn.passwords.hash(PASSWORD);
  await site.deps.sql`
    INSERT INTO control.password (account_id, username, hash) VALUES (${accountId}, ${username}, ${hash})`;
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/password', { username, password: PASSWORD });
  return { browser, accountId };
}

/** Options of a form. @throws {Error} with the problem that the page would show. */
export async function optionsOf(
  site: TestSignIn,
  browser: TestBrowser,
  action: string,
  form: Record<string, string> = {},
): Promise<PasskeyOptions> {
  const init = { method: 'POST', headers: { origin: site.ui }, body: new URLSearchParams(form) };
  const response = await browser.request(`${action}/options`, init);
  assert.ok(response.status === 200 || response.status === 422, `${action}: ${response.status}`);
  const { publicKey, problem } = (await response.json()) as { publicKey?: PasskeyOptions; problem?: string };
  if (publicKey === undefined) throw new Error(problem);
  return publicKey;
}

/** Adds a passkey to the account that is signed in. */
export async function addPasskey(
  site: TestSignIn,
  browser: TestBrowser,
  authenticator: Authenticator,
  name = 'Laptop',
) {
  const options = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
  return browser.submit(`${PASSKEY_PAGE}/add`, { name, ...authenticator.create(options) });
}

/** The code of a new invitation's link. */
export async function invitationCode(site: TestSignIn): Promise<string> {
  const at = `/orgs/${site.control.organizationId}/invitations`;
  return new URL((await site.control.call('POST', at, { role: 'member' })).body.url).searchParams.get('code')!;
}

/** Signs in with a passkey. */
export async function signInWith(site: TestSignIn, authenticator: Authenticator, browser = site.browser()) {
  const options = await optionsOf(site, browser, PASSKEY_SIGN_IN);
  return browser.submit(PASSKEY_SIGN_IN, { redirect: '/projects', ...authenticator.get(options) });
}

/** Who is signed in; null: nobody. */
export async function loginIn(browser: TestBrowser): Promise<string | null> {
  const { account } = (await (await browser.request('/api/auth/session')).json()) as {
    account: { login: string } | null;
  };
  return account?.login ?? null;
}
