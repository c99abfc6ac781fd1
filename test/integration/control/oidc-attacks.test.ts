// Attacks on the sign-in with OpenID Connect, by the provider, by somebody in the middle and by other sites: none opens
// a session.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createOidcProvider } from '#control/access/oidc/client.ts';
import { startHostileOidc, type HostileOidc } from '#test/setup/hostile-oidc.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';

let site: TestSignIn;
let provider: HostileOidc;
/** Clock of the platform's client. */
let now = Date.now;
before(async () => {
  provider = await startHostileOidc();
  site = await startSignIn('open', {
    oidc: () => createOidcProvider(provider.settings, 'a secret of the platform', { now: () => now() }),
  });
});
after(async () => {
  await site.close();
  await provider.close();
});
beforeEach(async () => {
  // Windows of attempts would run into each other.
  await site.deps.sql`DELETE FROM control.rate`;
  provider.reset();
  now = Date.now;
});

const SIGN_IN = '/api/auth/sign-in/oidc';
const SESSION = 'platform-session';

const isBack = (url: string): boolean => url.includes('/api/auth/callback/oidc');
const hasSession = (browser: TestBrowser): boolean => browser.cookies.has(SESSION);

/** Signs in. @returns the code of the message; null: signed in. */
async function errorOf(browser = site.browser()): Promise<string | null> {
  const { url } = await browser.visit(SIGN_IN);
  const error = new URL(url).searchParams.get('error');
  assert.equal(hasSession(browser), error === null);
  return error;
}

test('the way there has a state, a nonce and a proof that are new each time, and no secret', async () => {
  provider.asked.length = 0;
  assert.equal(await errorOf(), null);
  assert.equal(await errorOf(), null);
  const [first, second] = provider.asked as [URLSearchParams, URLSearchParams];
  for (const name of ['state', 'nonce', 'code_challenge']) {
    assert.match(first.get(name)!, /^[\w-]{43}$/);
    assert.notEqual(first.get(name), second.get(name));
  }
  assert.equal(first.get('code_challenge_method'), 'S256');
  assert.equal(first.get('response_type'), 'code');
  assert.equal(first.get('redirect_uri'), `${site.ui}/api/auth/callback/oidc`);
  assert.doesNotMatch(String(first), /hunter2/);
});

test('a state is good once, in the browser that began, and not for another way to sign in', async () => {
  const browser = site.browser();
  const { url } = await browser.visit(SIGN_IN, isBack);
  const stranger = site.browser();
  assert.match((await stranger.visit(url)).url, /error=expired$/);
  // It is used up now, for whom it was made as well.
  assert.match((await browser.visit(url)).url, /error=expired$/);

  const again = await browser.visit(SIGN_IN, isBack);
  const atGitHost = again.url.replace('/callback/oidc', '/callback/git-host');
  assert.match((await browser.visit(atGitHost)).url, /error=expired$/);

  const third = await browser.visit(SIGN_IN, isBack);
  const flow = browser.cookies.get('platform-sign-in')!;
  assert.equal((await browser.visit(third.url)).url, `${site.ui}/`);
  browser.cookies.delete(SESSION);
  browser.cookies.set('platform-sign-in', flow);
  assert.match((await browser.visit(third.url)).url, /error=expired$/);
  assert.equal(hasSession(browser), false);
});

test('a state that is missing, made up, doubled or too old opens nothing', async () => {
  const browser = site.browser();
  for (const query of ['', 'code=x', `state=${'a'.repeat(43)}&code=x`, 'state=&code=x']) {
    await browser.visit(SIGN_IN, isBack);
    assert.match((await browser.visit(`/api/auth/callback/oidc?${query}`)).url, /error=expired$/, query);
  }
  const doubled = await browser.visit(SIGN_IN, isBack);
  assert.match((await browser.visit(`${doubled.url}&state=x`)).url, /error=expired$/);
  const old = await browser.visit(SIGN_IN, isBack);
  await site.deps.sql`UPDATE control.single_use SET expires_at = now() - interval '1 second'`;
  assert.match((await browser.visit(old.url)).url, /error=expired$/);
  assert.equal(hasSession(browser), false);
});

test('a code is good once, and only with the proof of who asked for it', async () => {
  const victim = site.browser();
  const stolen = new URL((await victim.visit(SIGN_IN, isBack)).url).searchParams.get('code')!;
  // Put into the sign-in of another browser, whose proof is another.
  const thief = site.browser();
  const own = new URL((await thief.visit(SIGN_IN, isBack)).url);
  own.searchParams.set('code', stolen);
  assert.match((await thief.visit(own.href)).url, /error=oidc_invalid$/);
  assert.equal(hasSession(thief), false);
  // Used already, in a sign-in of their own.
  const used = new URL((await victim.visit(SIGN_IN, isBack)).url);
  await victim.visit(used.href);
  const later = new URL((await thief.visit(SIGN_IN, isBack)).url);
  later.searchParams.set('code', used.searchParams.get('code')!);
  assert.match((await thief.visit(later.href)).url, /error=oidc_invalid$/);
  assert.equal(hasSession(thief), false);
});

test('an answer of another provider, or without its name, is refused', async () => {
  provider.state.back = { iss: 'https://login.evil.example' };
  assert.equal(await errorOf(), 'oidc_invalid');
  provider.state.back = { iss: null };
  assert.equal(await errorOf(), 'oidc_invalid');
  // Metadata of another one.
  provider.reset();
  provider.state.metadata = { issuer: 'https://login.evil.example' };
  assert.equal(await errorOf(), 'oidc_invalid');
  provider.reset();
  assert.equal(await errorOf(), null);
});

test('an ID token that is forged, for others, of others or too old is refused', async () => {
  const stranger = provider.newKey('first');
  const { state, settings } = provider;
  const hour = Math.floor(Date.now() / 1000) - 3600;
  const forgeries: [name: string, forge: () => void, error: string][] = [
    ['alg none', () => Object.assign(state, { header: { alg: 'none' }, signer: null }), 'oidc_invalid'],
    ['another key of the same name', () => void (state.signer = stranger), 'oidc_invalid'],
    ['a key that is not published', () => void (state.signer = provider.newKey('second')), 'oidc_invalid'],
    ['no signature', () => void (state.signer = null), 'oidc_invalid'],
    ['the client secret as key', () => Object.assign(state, { header: { alg: 'HS256' } }), 'oidc_invalid'],
    ['for another client', () => void (state.claims = { aud: 'another' }), 'oidc_invalid'],
    ['for two clients', () => void (state.claims = { aud: [settings.clientId, 'another'] }), 'oidc_invalid'],
    ['of another provider', () => void (state.claims = { iss: 'https://login.evil.example' }), 'oidc_invalid'],
    ['without nonce', () => void (state.claims = { nonce: undefined }), 'oidc_invalid'],
    ['with an old nonce', () => void (state.claims = { nonce: 'a'.repeat(43) }), 'oidc_invalid'],
    ['expired', () => void (state.claims = { iat: hour - 300, exp: hour }), 'oidc_clock'],
    ['of the future', () => void (state.claims = { iat: hour + 7200, exp: hour + 7500 }), 'oidc_clock'],
    ['without end', () => void (state.claims = { exp: undefined }), 'oidc_invalid'],
    ['without subject', () => void (state.claims = { sub: undefined }), 'oidc_subject'],
    ['with an empty subject', () => void (state.claims = { sub: '' }), 'oidc_subject'],
    ['with a number as subject', () => void (state.claims = { sub: 7 }), 'oidc_invalid'],
    ['with a subject of 256 characters', () => void (state.claims = { sub: 'x'.repeat(256) }), 'oidc_subject'],
    ['with groups elsewhere', () => void (state.claims = { _claim_names: { groups: 'src1' } }), 'oidc_groups'],
  ];
  for (const [name, forge, error] of forgeries) {
    await site.deps.sql`DELETE FROM control.rate`;
    provider.reset();
    forge();
    assert.equal(await errorOf(), error, name);
  }
  provider.reset();
  assert.equal(await errorOf(), null);
});

test('the message of a clock that is an hour off names the clock', async () => {
  const { state } = provider;
  const seconds = Math.floor(Date.now() / 1000);
  state.claims = { iat: seconds - 3900, exp: seconds - 3600 };
  const page = await site.browser().visit(SIGN_IN);
  assert.match(page.text, /role="alert">The clock of this platform or of the provider is wrong/);
  // A minute is tolerated.
  state.claims = { iat: seconds + 30, exp: seconds + 330 };
  assert.equal(await errorOf(), null);
});

test('a provider cannot lead to a script, nor the platform to a file', async () => {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri']) {
    for (const url of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/relative', 7]) {
      await site.deps.sql`DELETE FROM control.rate`;
      provider.state.metadata = { [name]: url };
      now = () => Date.now() + 3_600_001;
      assert.equal(await errorOf(), 'oidc_invalid', `${name} ${url}`);
    }
  }
});

test('userinfo of another person is refused', async () => {
  const { settings, state } = provider;
  state.metadata = { userinfo_endpoint: `${settings.issuer}userinfo` };
  state.answers.set('/userinfo', (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"sub":"ada","email":"ada@example.com"}');
  });
  // The metadata are asked for anew after an hour.
  now = () => Date.now() + 3_600_001;
  assert.equal(await errorOf(), 'oidc_invalid');
});

test('keys that change between two sign-ins are fetched, and the old one is not accepted any more', async () => {
  const { state } = provider;
  assert.equal(await errorOf(), null);
  const old = state.signer;
  state.signer = provider.newKey('second');
  state.keys.splice(0, 1, state.signer);
  assert.equal(await errorOf(), null);
  state.signer = old;
  assert.equal(await errorOf(), 'oidc_invalid');
});

test('a provider that fails or sends too much is named, and works again later', async () => {
  const { answers } = provider.state;
  const failures: [name: string, fail: Parameters<typeof answers.set>[1], error: string][] = [
    ['500', (_, response) => void response.writeHead(500).end('hunter2'), 'oidc_away'],
    ['closed', (request) => void request.socket.destroy(), 'oidc_away'],
    ['huge', (_, response) => void response.writeHead(200).end(Buffer.alloc(2_000_000, 32)), 'oidc_invalid'],
    ['not JSON', (_, response) => void response.writeHead(200).end('<html>'), 'oidc_invalid'],
    ['a redirect', (_, response) => void response.writeHead(302, { location: '/other' }).end(), 'oidc_invalid'],
  ];
  for (const path of ['/.well-known/openid-configuration', '/token', '/keys']) {
    for (const [name, fail, error] of failures) {
      await site.deps.sql`DELETE FROM control.rate`;
      provider.reset();
      provider.state.answers.set(path, fail);
      now = () => Date.now() + 3_600_001;
      provider.requests.length = 0;
      assert.equal(await errorOf(), error, `${path} ${name}`);
      assert.equal(provider.requests.includes('GET /other'), false);
      now = Date.now;
    }
  }
  provider.reset();
  assert.equal(await errorOf(), null);
});

test('a provider that does not answer, or never ends its answer, is given up', async () => {
  const { settings, state } = provider;
  const impatient = createOidcProvider(settings, 'a secret of the platform', { waitMs: 1500 });
  const flow = { callback: `${site.ui}/api/auth/callback/oidc`, state: 'a state' };
  const isSlow = (error: Error & { why?: string }): boolean =>
    error.message === 'The provider is too slow' && error.why === 'away';
  state.answers.set('/.well-known/openid-configuration', () => {});
  await assert.rejects(impatient.authorizeUrl(flow), isSlow);
  state.answers.clear();
  state.answers.set('/token', (_, response) => void response.writeHead(200).write('{'));
  const query = new URLSearchParams({ code: 'x', state: flow.state, iss: settings.issuer.slice(0, -1) });
  await assert.rejects(impatient.personOf(flow, query), isSlow);
});

test('metadata are kept for an hour, and asked for once by many sign-ins at a time', async () => {
  assert.equal(await errorOf(), null);
  provider.requests.length = 0;
  const count = (): number => provider.requests.filter((one) => one.includes('openid-configuration')).length;
  assert.equal(await errorOf(), null);
  assert.equal(count(), 0);
  now = () => Date.now() + 3_600_001;
  await Promise.all(Array.from({ length: 5 }, () => site.browser().visit(SIGN_IN, isBack)));
  assert.equal(count(), 1);
});

test('a sign-in leads to no other site', async () => {
  for (const redirect of ['https://evil.example/', '//evil.example', '/\\evil.example', '/%2e%2e//evil.example', 'x']) {
    const address = `${SIGN_IN}?${new URLSearchParams({ redirect })}`;
    const { url } = await site.browser().visit(address);
    assert.equal(new URL(url).origin, site.ui, redirect);
    assert.doesNotMatch(new URL(url).pathname, /^\/[/\\]/, redirect);
  }
});

test('a session from before the sign-in ends, and a new one begins', async () => {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  const before = browser.cookies.get(SESSION)!;
  assert.equal(await errorOf(browser), null);
  assert.notEqual(browser.cookies.get(SESSION), before);
  const old = site.browser();
  old.cookies.set(SESSION, before);
  assert.equal(((await (await old.request('/api/auth/session')).json()) as { account: unknown }).account, null);
});

test('other sites can neither link an identity nor use an invitation, and sign-ins are counted', async () => {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  for (const path of ['/api/auth/link/oidc', '/api/auth/link/oidc/remove', '/api/auth/invitation/oidc']) {
    const body = new URLSearchParams({ current: '', code: 'x' });
    const headers = { origin: 'https://evil.example' };
    assert.equal((await browser.request(path, { method: 'POST', headers, body })).status, 403, path);
  }
  // Signed out, or somebody else, before they are back.
  const begun = await browser.submit('/api/auth/link/oidc', { current: '' }, isBack);
  browser.cookies.delete(SESSION);
  assert.match((await browser.visit(begun.url)).url, /error=expired$/);
  const statuses = new Set<number>();
  for (let count = 0; count < 31; count++)
    statuses.add((await site.browser().request('/api/auth/callback/oidc?state=x')).status);
  assert.deepEqual([...statuses], [303, 429]);
});

test('a failure names its reason and nothing that was sent or received', async () => {
  const { settings, state } = provider;
  state.answers.set('/token', (_, response) => {
    const body = { error: 'invalid_client', error_description: `wrong: ${settings.clientSecret}` };
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const flow = { callback: `${site.ui}/api/auth/callback/oidc`, state: 'a state' };
  const query = new URLSearchParams({ code: 'hunter2', state: flow.state, iss: settings.issuer.slice(0, -1) });
  await assert.rejects(site.deps.signIn.oidc!.personOf(flow, query), (error: Error) => {
    assert.equal(error.message, 'The provider issued no token: invalid_client');
    assert.equal(error.cause, undefined);
    return true;
  });
});
