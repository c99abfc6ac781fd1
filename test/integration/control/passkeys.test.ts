// Passkeys: added on the account's page, used to sign in, renamed and removed; who may do so, and what stays.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createUi } from '#control/sign-in/ui.ts';
import {
  addPasskey,
  loginIn,
  makePerson,
  optionsOf,
  PASSKEY_PAGE,
  PASSKEY_SIGN_IN,
  PASSWORD,
  signInWith,
} from '#test/setup/passkeys.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { createAuthenticator } from '#test/setup/software-authenticator.ts';

let site: TestSignIn;
before(async () => void (site = await startSignIn()));
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

async function idsOf(browser: TestBrowser): Promise<string[]> {
  const { text } = await browser.visit(PASSKEY_PAGE);
  return [...new Set([...text.matchAll(/name="passkey" value="(pky_\w+)"/g)].map(([, id]) => id!))];
}

/** As if the session were an hour old. */
const later = (accountId: string) =>
  site.deps.sql`UPDATE control.session SET created_at = created_at - interval '1 hour' WHERE account_id = ${accountId}`;

test('a passkey is added and signs in without password and code, and leads on', async () => {
  const { browser, accountId } = await makePerson(site, 'grace');
  const authenticator = createAuthenticator(site.ui);
  const options = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
  assert.deepEqual(
    { ...options, challenge: '', user: { ...options.user, id: '' } },
    {
      challenge: '',
      rp: { id: 'localhost', name: 'localhost' },
      user: { id: '', name: 'grace', displayName: 'grace' },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: [],
      timeout: 300_000,
    },
  );
  const added = await browser.submit(`${PASSKEY_PAGE}/add`, { name: 'Laptop', ...authenticator.create(options) });
  assert.equal(added.url, `${site.ui}${PASSKEY_PAGE}`);
  assert.match(added.text, /<strong dir="auto">Laptop<\/strong><br \/>Added 20\d\d-\d\d-\d\d, never used/);
  // A second factor protects the password alone.
  await site.deps.sql`
    INSERT INTO control.second_factor (account_id, secret, confirmed_at) VALUES (${accountId}, 'x', now())`;
  const again = site.browser();
  assert.match((await again.visit('/api/auth/sign-in')).text, /Sign in with a passkey/);
  assert.equal((await signInWith(site, authenticator, again)).url, `${site.ui}/projects`);
  assert.equal(await loginIn(again), 'grace');
  assert.match((await again.visit(PASSKEY_PAGE)).text, /, last used 20\d\d-\d\d-\d\d/);
  const seen = (await (await again.request('/api/user/sign-in')).json()) as { passkeys: number };
  assert.equal(seen.passkeys, 1);
});

for (const algorithm of ['EdDSA', 'RS256'] as const)
  test(`keys of ${algorithm} sign in`, async () => {
    const { browser } = await makePerson(site, `with-${algorithm}`);
    const authenticator = createAuthenticator(site.ui, algorithm);
    await addPasskey(site, browser, authenticator);
    const again = site.browser();
    await signInWith(site, authenticator, again);
    assert.equal(await loginIn(again), `with-${algorithm}`);
  });

test('an account keeps its random id at authenticators, and the options list its passkeys', async () => {
  const { browser, accountId } = await makePerson(site, 'ida');
  const authenticator = createAuthenticator(site.ui);
  const first = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
  assert.equal(Buffer.from(first.user!.id, 'base64url').length, 32);
  assert.notEqual(first.user!.id, Buffer.from(accountId).toString('base64url'));
  await browser.submit(`${PASSKEY_PAGE}/add`, { name: 'Phone', ...authenticator.create(first) });
  const second = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
  assert.equal(second.user!.id, first.user!.id);
  assert.deepEqual(
    second.excludeCredentials!.map(({ id }) => id),
    [authenticator.credentialId().toString('base64url')],
  );
});

test('a passkey is renamed and removed by its account, which ends other sessions', async () => {
  const { browser } = await makePerson(site, 'mary');
  const authenticator = createAuthenticator(site.ui);
  await addPasskey(site, browser, authenticator);
  const [passkey] = await idsOf(browser);
  const renamed = await browser.submit(`${PASSKEY_PAGE}/rename`, { passkey: passkey!, name: '<b>Key</b>' });
  assert.match(renamed.text, /&lt;b&gt;Key&lt;\/b&gt;/);
  const lost = site.browser();
  await signInWith(site, authenticator, lost);
  const removed = await browser.submit(`${PASSKEY_PAGE}/remove`, { passkey: passkey! });
  assert.doesNotMatch(removed.text, /pky_/);
  assert.deepEqual([await loginIn(browser), await loginIn(lost)], ['mary', null]);
  const refused = await signInWith(site, authenticator);
  assert.equal(refused.status, 401);
  assert.match(refused.text, /This passkey cannot be used here/);
});

test('the last way to sign in is not removed, also by two at once', async () => {
  const { browser, accountId } = await makePerson(site, 'nora');
  for (const name of ['One', 'Two']) await addPasskey(site, browser, createAuthenticator(site.ui), name);
  await site.deps.sql`DELETE FROM control.password WHERE account_id = ${accountId}`;
  const other = site.browser();
  for (const [name, value] of browser.cookies) other.cookies.set(name, value);
  const [one, two] = await idsOf(browser);
  await Promise.all([
    browser.submit(`${PASSKEY_PAGE}/remove`, { passkey: one! }),
    other.submit(`${PASSKEY_PAGE}/remove`, { passkey: two! }),
  ]);
  const left = await site.deps.sql<{ id: string }[]>`SELECT id FROM control.passkey WHERE account_id = ${accountId}`;
  assert.equal(left.length, 1);
  const still = (await loginIn(browser)) === null ? other : browser;
  const refused = await still.submit(`${PASSKEY_PAGE}/remove`, { passkey: left[0]!.id });
  assert.match(refused.text, /This is the only way to sign in to your account/);
});

test('changes need a sign-in of the last ten minutes', async () => {
  const { browser, accountId } = await makePerson(site, 'old');
  await addPasskey(site, browser, createAuthenticator(site.ui));
  const [passkey] = await idsOf(browser);
  await later(accountId);
  assert.match((await browser.visit(PASSKEY_PAGE)).text, /Sign in again to change them/);
  await assert.rejects(optionsOf(site, browser, `${PASSKEY_PAGE}/add`), /Reload this page, and sign in again/);
  for (const change of ['rename', 'remove']) {
    const { url, text } = await browser.submit(`${PASSKEY_PAGE}/${change}`, { passkey: passkey!, name: 'x' });
    assert.equal(url, `${site.ui}/api/auth/sign-in?redirect=%2Fapi%2Fauth%2Fpasskeys&error=again`);
    assert.match(text, /Sign in again to change how your account signs in/);
  }
  const redirect = PASSKEY_PAGE;
  const back = await browser.submit('/api/auth/sign-in/password', { username: 'old', password: PASSWORD, redirect });
  assert.equal(back.url, `${site.ui}${PASSKEY_PAGE}`);
  assert.match(back.text, /Rename or remove/);
});

test('an account without a password sets one after a fresh sign-in only', async () => {
  const { browser, accountId } = await makePerson(site, 'set');
  await site.deps.sql`DELETE FROM control.password WHERE account_id = ${accountId}`;
  await later(accountId);
  const again = `${site.ui}/api/auth/sign-in?redirect=%2Fapi%2Fauth%2Fpassword&error=again`;
  assert.equal((await browser.visit('/api/auth/password')).url, again);
  const form = { username: 'set', password: PASSWORD };
  assert.equal((await browser.submit('/api/auth/password', form)).url, again);
  assert.equal((await site.deps.sql`SELECT 1 FROM control.password WHERE account_id = ${accountId}`).length, 0);
});

test('an account has at most twenty passkeys', async () => {
  const { browser, accountId } = await makePerson(site, 'full');
  const options = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
  await site.deps.sql`
    INSERT INTO control.passkey (id, account_id, credential_id, public_key, counter, name)
    SELECT 'pky_full' || n, ${accountId}, n::text::bytea, 'x', 0, 'Key' FROM generate_series(1, 20) AS n`;
  await assert.rejects(optionsOf(site, browser, `${PASSKEY_PAGE}/add`), /at most 20 passkeys/);
  const form = { name: 'One more', ...createAuthenticator(site.ui).create(options) };
  assert.match((await browser.submit(`${PASSKEY_PAGE}/add`, form)).text, /at most 20 passkeys/);
});

test('the script may run on pages with passkeys alone, and nothing else may', async () => {
  const { browser } = await makePerson(site, 'csp');
  await addPasskey(site, browser, createAuthenticator(site.ui));
  const policyOf = async (at: string, visitor: TestBrowser) =>
    (await visitor.visit(at)).headers.get('content-security-policy')!;
  const allowed = `default-src 'none'; script-src ${site.ui}/api/auth/passkeys.js; connect-src ${site.ui}/api/auth/; `;
  assert.ok((await policyOf(PASSKEY_PAGE, browser)).startsWith(allowed));
  assert.ok((await policyOf('/api/auth/sign-in', site.browser())).startsWith(allowed));
  assert.doesNotMatch(await policyOf('/api/auth/two-factor', browser), /script-src|connect-src/);
  const script = await site.browser().request('/api/auth/passkeys.js');
  assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8');
});

test('where passkeys are left out, or AUTH_URL has no name, they are neither shown nor taken', async () => {
  const { browser } = await makePerson(site, 'left-out');
  await addPasskey(site, browser, createAuthenticator(site.ui));
  const ask = async (deps: object, ui: string, at: string, method = 'POST') => {
    const app = createUi({ ...site.forPages, ...deps }, () => new Response('never'));
    const response = await app(new Request(`${ui}${at}`, { method, headers: { origin: ui } }));
    return { status: response.status, text: await response.text() };
  };
  const without = { signIn: { ...site.deps.signIn, ways: ['password'] } };
  const unnamed = { addresses: { ...site.deps.addresses, ui: 'https://192.0.2.1' } };
  const plain = { addresses: { ...site.deps.addresses, ui: 'http://app.example.com' } };
  const cases: [object, string][] = [
    [without, site.ui],
    [unnamed, 'https://192.0.2.1'],
    [plain, 'http://app.example.com'],
  ];
  for (const [deps, ui] of cases) {
    assert.doesNotMatch((await ask(deps, ui, '/api/auth/sign-in', 'GET')).text, /passkey/);
    for (const at of [`${PASSKEY_SIGN_IN}/options`, `${PASSKEY_PAGE}/add/options`])
      assert.equal((await ask(deps, ui, at)).status, 501, `${ui} ${at}`);
  }
});
