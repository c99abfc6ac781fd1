// Signing in at a Git host, on real sockets: who is let in, and what of it can be forged, replayed or led astray.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { gitHostTokenOf } from '#control/sign-in/git-host-token.ts';
import { newId } from '#control/records/ids.ts';
import { createUi } from '#control/sign-in/ui.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { withinWindow } from '#test/setup/window.ts';

let site: TestSignIn;
before(async () => void (site = await startSignIn()));
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

const SESSION = 'platform-session';

async function invite(login: string, role = 'member'): Promise<void> {
  await site.deps.sql`
    INSERT INTO control.invitation (id, organization_id, login, role, expires_at)
    VALUES (${newId('invitation')}, ${site.control.organizationId}, ${login}, ${role}, now() + interval '1 day')`;
}

function asHostUser(login: string): void {
  site.host.user(login);
  site.host.state.signedIn = login;
}

async function sessionOf(browser: TestBrowser): Promise<{ id: string; login: string } | null> {
  const response = await browser.request('/api/auth/session');
  return ((await response.json()) as { account: { id: string; login: string } | null }).account;
}

test('somebody who was invited signs in, becomes a member, and is asked for by the API in the session', async () => {
  await invite('Grace');
  asHostUser('grace');
  const browser = site.browser();
  const page = await browser.visit('/api/auth/sign-in?redirect=/api/projects%3Fx=1');
  assert.match(page.text, /Sign in with 127\.0\.0\.1:\d+/);
  const back = await browser.visit('/api/auth/sign-in/git-host?redirect=/deployments%3Fx=1', (url) =>
    url.startsWith(`${site.ui}/deployments`),
  );
  assert.equal(back.url, `${site.ui}/deployments?x=1`);
  assert.deepEqual([...browser.cookies.keys()], [SESSION]);
  const user = await browser.request('/api/user');
  const body = (await user.json()) as { login: string; isOperator: boolean; organizations: unknown; token: unknown };
  assert.equal(user.status, 200);
  assert.deepEqual([body.login, body.isOperator, body.token], ['grace', false, null]);
  assert.deepEqual(body.organizations, [
    { id: site.control.organizationId, slug: 'acme', name: 'acme', role: 'member' },
  ]);
  assert.equal((await site.deps.sql`SELECT 1 FROM control.invitation`).length, 0);
  const { id } = (await sessionOf(browser))!;
  assert.match((await gitHostTokenOf(site.deps, id)) ?? '', /^ghu_/);
  assert.equal(await gitHostTokenOf(site.deps, site.control.owner.accountId), null);
});

test('the same person has the same account at the next sign-in, also under another login', async () => {
  await invite('mary');
  asHostUser('mary');
  const first = site.browser();
  await first.visit('/api/auth/sign-in/git-host');
  const before = await sessionOf(first);
  site.host.state.users.set('mary', { ...site.host.state.users.get('mary')!, login: 'mary-j' });
  const second = site.browser();
  await second.visit('/api/auth/sign-in/git-host');
  assert.equal((await sessionOf(second))!.id, before!.id);
  assert.notEqual(second.cookies.get(SESSION), first.cookies.get(SESSION));
});

test('somebody whom nobody invited is turned away, and leaves no account', async () => {
  asHostUser('stranger');
  const browser = site.browser();
  const page = await browser.visit('/api/auth/sign-in/git-host');
  assert.equal(page.url, `${site.ui}/api/auth/sign-in?error=not_invited`);
  assert.match(page.text, /role="alert">You have not been invited yet/);
  assert.equal(await sessionOf(browser), null);
  assert.equal((await site.deps.sql`SELECT 1 FROM control.account WHERE login = 'stranger'`).length, 0);
});

test('an invitation that is too old lets nobody in', async () => {
  await invite('late');
  await site.deps.sql`UPDATE control.invitation SET expires_at = now() - interval '1 second' WHERE login = 'late'`;
  asHostUser('late');
  const page = await site.browser().visit('/api/auth/sign-in/git-host');
  assert.equal(page.url, `${site.ui}/api/auth/sign-in?error=not_invited`);
});

test('with SIGN_UP=open everybody is let in, and nobody becomes an operator or a member', async (t) => {
  const open = await startSignIn('open');
  t.after(() => open.close());
  await open.deps.sql`DELETE FROM control.account`;
  open.host.user('first');
  open.host.state.signedIn = 'first';
  const browser = open.browser();
  await browser.visit('/api/auth/sign-in/git-host');
  const user = (await (await browser.request('/api/user')).json()) as Record<string, unknown>;
  assert.deepEqual([user['login'], user['isOperator'], user['organizations']], ['first', false, []]);
});

test('a state is good once, and only in the browser that it was made for', async () => {
  await invite('ida');
  asHostUser('ida');
  const browser = site.browser();
  const { url } = await browser.visit('/api/auth/sign-in/git-host', (to) => to.includes('/callback/'));
  const flow = new Map(browser.cookies);
  const stranger = await site.browser().visit(url);
  assert.equal(stranger.url, `${site.ui}/api/auth/sign-in?error=expired`);
  // It is used up now, for whom it was made as well.
  assert.equal((await browser.visit(url)).url, `${site.ui}/api/auth/sign-in?error=expired`);

  const again = await browser.visit('/api/auth/sign-in/git-host', (to) => to.includes('/callback/'));
  for (const [name, value] of flow) browser.cookies.set(name, value);
  assert.equal((await browser.visit(again.url)).url, `${site.ui}/api/auth/sign-in?error=expired`);

  const third = await browser.visit('/api/auth/sign-in/git-host', (to) => to.includes('/callback/'));
  const kept = browser.cookies.get('platform-sign-in')!;
  assert.equal((await browser.visit(third.url, (to) => to === `${site.ui}/`)).url, `${site.ui}/`);
  browser.cookies.set('platform-sign-in', kept);
  assert.equal((await browser.visit(third.url)).url, `${site.ui}/api/auth/sign-in?error=expired`);
});

test('a state that is too old, made up or given twice opens nothing', async () => {
  const browser = site.browser();
  const { url } = await browser.visit('/api/auth/sign-in/git-host', (to) => to.includes('/callback/'));
  await site.deps.sql`UPDATE control.single_use SET expires_at = now() - interval '1 second'`;
  assert.match((await browser.visit(url)).url, /error=expired$/);
  for (const query of ['', 'state=x&code=y', `state=${'a'.repeat(43)}&code=y`, 'state=a&state=b&code=y'])
    assert.match((await browser.visit(`/api/auth/callback/git-host?${query}`)).url, /error=expired$/);
});

test('the code is exchanged with the proof of who asked for it', async () => {
  asHostUser('ida');
  const browser = site.browser();
  const { url } = await browser.visit('/api/auth/sign-in/git-host', (to) => to.includes('/callback/'));
  const code = new URL(url).searchParams.get('code')!;
  site.host.state.codes.set(code, { ...site.host.state.codes.get(code)!, challenge: 'a'.repeat(43) });
  assert.equal((await browser.visit(url)).url, `${site.ui}/api/auth/sign-in?error=git_host`);
});

test('whoever refuses at the Git host, or whose Git host fails, is told so', async () => {
  const browser = site.browser();
  const { url } = await browser.visit('/api/auth/sign-in/git-host', (to) => to.includes('/callback/'));
  const refused = new URL(url);
  refused.searchParams.delete('code');
  refused.searchParams.set('error', 'access_denied');
  assert.match((await browser.visit(refused.href)).url, /error=denied$/);
  site.host.state.failures.push(500);
  assert.match((await browser.visit('/api/auth/sign-in/git-host')).url, /error=git_host$/);
});

test('a sign-in leads to no other site', async () => {
  asHostUser('ida');
  const elsewhere = [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/%2e%2e//evil.example',
    '/.//evil.example',
    'javascript:alert(1)',
    ' /x',
    'x',
  ];
  for (const redirect of elsewhere) {
    const browser = site.browser();
    await site.deps.sql`DELETE FROM control.rate`;
    const address = `/api/auth/sign-in/git-host?${new URLSearchParams({ redirect })}`;
    const { url } = await browser.visit(address, (to) => to.startsWith('http') && !/callback|\/login\//.test(to));
    assert.equal(new URL(url).origin, site.ui, redirect);
    assert.doesNotMatch(new URL(url).pathname, /^\/[/\\]/, redirect);
  }
});

test('an identity is linked to the account that asked for it, and to no second one', async () => {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  const owner = await sessionOf(browser);
  assert.equal(owner?.login, 'ada');
  asHostUser('ada-at-host');
  const asked = await browser.visit('/api/auth/link/git-host?redirect=/new%3Ffrom=git-host');
  assert.match(asked.text, /<h1>Link 127\.0\.0\.1:\d+<\/h1>/);
  const [, action] = /action="([^"]+)"/.exec(asked.text)!;
  // A form of the page may lead to the Git host.
  assert.match(asked.headers.get('content-security-policy')!, new RegExp(`form-action 'self' ${site.host.url};`));
  const linked = await browser.submit(action!, {}, (url) => url.startsWith(`${site.ui}/new`));
  assert.equal(linked.url, `${site.ui}/new?from=git-host`);
  const other = site.browser();
  await other.visit('/api/auth/sign-in/git-host');
  assert.deepEqual(await sessionOf(other), owner);
  // That of somebody else stays theirs.
  asHostUser('grace');
  const page = await browser.submit('/api/auth/link/git-host', {});
  assert.equal(page.url, `${site.ui}/api/auth/sign-in?error=belongs_to_another_account`);
});

test('pages of other sites can neither sign somebody in nor out, nor ask the API with the session', async () => {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: site.api },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
    {},
  ];
  for (const headers of foreign) {
    for (const path of ['/api/auth/sign-out', '/api/auth/authorize', '/api/auth/device/decide', '/api/projects']) {
      const response = await browser.request(path, { method: 'POST', headers, body: new URLSearchParams({ a: 'b' }) });
      assert.equal(response.status, 403, `${path} ${JSON.stringify(headers)}`);
    }
  }
  for (const headers of [{ 'sec-fetch-site': 'same-site' }, { origin: 'https://evil.example' }])
    assert.equal((await browser.request('/api/user', { headers })).status, 403);
  assert.equal((await sessionOf(browser))?.login, 'ada');
  // The API's own origin takes tokens alone.
  const atApi = await fetch(`${site.api}/user`, { headers: { cookie: `${SESSION}=${browser.cookies.get(SESSION)}` } });
  assert.equal(atApi.status, 401);
});

test('a page of ours changes things through the session', async () => {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  const response = await browser.request('/api/projects', {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: site.ui },
    body: JSON.stringify({ name: 'made-here', organizationId: site.control.organizationId }),
  });
  assert.equal(response.status, 201);
  assert.equal(((await response.json()) as { name: string }).name, 'made-here');
  const [event] = await site.deps.sql<{ actor_kind: string; address: string }[]>`
    SELECT actor_kind, address FROM control.audit_event WHERE action = 'project.create'`;
  assert.equal(event?.actor_kind, 'account');
});

test('a page that is asked for by the address of this machine leads to its name', async () => {
  const byAddress = site.ui.replace('localhost', '127.0.0.1');
  const response = await fetch(`${byAddress}/api/auth/sign-in?redirect=/x`, { redirect: 'manual' });
  assert.deepEqual(
    [response.status, response.headers.get('location')],
    [303, `${site.ui}/api/auth/sign-in?redirect=/x`],
  );
});

test('when the database is away, the answer says so and nothing else', async () => {
  const sessions = {
    ...site.deps.signIn.sessions,
    find: () => Promise.reject(new Error('connect to 10.0.0.7 failed')),
  };
  const deps = { ...site.deps, signIn: { ...site.deps.signIn, sessions } };
  const ui = createUi(deps, () => new Response('never'));
  const response = await ui(new Request(`${site.ui}/`, { headers: { cookie: 'platform-session=x' } }));
  assert.equal(response.status, 503);
  assert.doesNotMatch(await response.text(), /10\.0\.0\.7/);
});

test('signing out ends the session on the server', async () => {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  const kept = browser.cookies.get(SESSION)!;
  await browser.submit('/api/auth/sign-out', {});
  assert.deepEqual([...browser.cookies], []);
  browser.cookies.set(SESSION, kept);
  assert.equal(await sessionOf(browser), null);
});

test('an account sees where it is signed in, and ends sessions of its own', async () => {
  const { call, account } = site.control;
  await site.deps.signIn.sessions.endAll(site.control.owner.accountId);
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  const [session, ...more] = (await call('GET', '/user/sessions')).body;
  assert.deepEqual(more, []);
  assert.match(session.id, /^ses_[0-9a-f]{20}$/);
  const stranger = await account('eve');
  assert.equal((await call('DELETE', `/user/sessions/${session.id}`, undefined, stranger.token)).status, 404);
  assert.equal((await call('DELETE', `/user/sessions/${session.id}`)).status, 204);
  assert.equal(await sessionOf(browser), null);
});

test('an account signs out everywhere, from a session or by a token, and others stay signed in', async () => {
  const { call, account, owner } = site.control;
  const { sessions } = site.deps.signIn;
  await sessions.endAll(owner.accountId);
  const browsers = [site.browser(), site.browser()];
  for (const browser of browsers) await browser.submit('/api/auth/sign-in/token', { token: owner.token });
  const listed = (await (await browsers[1]!.request('/api/user/sessions')).json()) as { isCurrent: boolean }[];
  assert.deepEqual(
    listed.map(({ isCurrent }) => isCurrent),
    [true, false],
  );
  const stranger = await account('mallory');
  const theirs = { accountId: stranger.accountId, tokenId: null, userAgent: null, address: null };
  const value = await sessions.open(theirs);
  const headers = { origin: site.ui };
  assert.equal((await browsers[0]!.request('/api/user/sessions', { method: 'DELETE', headers })).status, 204);
  for (const browser of browsers) assert.equal(await sessionOf(browser), null);
  assert.notEqual(await sessions.find(value), null);
  await browsers[0]!.submit('/api/auth/sign-in/token', { token: owner.token });
  assert.equal((await call('DELETE', '/user/sessions')).status, 204);
  assert.equal(await sessionOf(browsers[0]!), null);
});

test('a session that has expired opens nothing, and one that is a day old gets a new cookie', async () => {
  const { sql } = site.deps;
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  const first = browser.cookies.get(SESSION)!;
  await browser.visit('/api/auth/session');
  assert.equal(browser.cookies.get(SESSION), first);
  await sql`UPDATE control.session SET expires_at = date_trunc('milliseconds', expires_at - interval '25 hours')`;
  await browser.visit('/api/auth/session');
  const second = browser.cookies.get(SESSION)!;
  assert.notEqual(second, first);
  // Requests that were under way with the old one are answered.
  const late = site.browser();
  late.cookies.set(SESSION, first);
  assert.equal((await sessionOf(late))?.login, 'ada');
  await sql`UPDATE control.session SET expires_at = now() - interval '1 second'`;
  assert.equal(await sessionOf(browser), null);
});

test('tokens are typed ten times in five minutes, not more', async () => {
  const browser = site.browser();
  const { statuses, page } = await withinWindow(300, async () => {
    const found: number[] = [];
    await site.deps.sql`DELETE FROM control.rate`;
    for (let attempt = 0; attempt < 12; attempt++)
      found.push((await browser.submit('/api/auth/sign-in/token', { token: `plt_${attempt}` })).status);
    return { statuses: found, page: await browser.submit('/api/auth/sign-in/token', { token: 'plt_x' }) };
  });
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429, 429]);
  assert.match(page.headers.get('retry-after') ?? '', /^\d+$/);
});

test('a token that is limited, or that expires, opens no session', async () => {
  const { sql } = site.deps;
  const { token } = await site.control.account('limited', {}, 'read');
  const browser = site.browser();
  const statusOf = async (): Promise<number> => {
    await sql`DELETE FROM control.rate`;
    return (await browser.submit('/api/auth/sign-in/token', { token })).status;
  };
  assert.equal(await statusOf(), 401);
  await sql`UPDATE control.token SET scope = 'admin', expires_at = now() + interval '1 day' WHERE scope = 'read'`;
  assert.equal(await statusOf(), 401);
  await sql`UPDATE control.token SET expires_at = NULL, project_id = 'prj_1' WHERE expires_at IS NOT NULL`;
  assert.equal(await statusOf(), 401);
  await sql`UPDATE control.token SET project_id = NULL, revoked_at = now() WHERE project_id = 'prj_1'`;
  assert.equal(await statusOf(), 401);
});

test('pages of sign-in cannot be framed, kept or scripted', async () => {
  const { headers, text } = await site.browser().visit('/api/auth/sign-in?redirect=/%22%3E%3Cscript%3E');
  assert.match(headers.get('content-security-policy')!, /default-src 'none'.*frame-ancestors 'none'/);
  assert.equal(headers.get('x-frame-options'), 'DENY');
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.doesNotMatch(text, /<script/);
  // Codes of errors are names of ours alone.
  for (const error of ['constructor', '__proto__', 'toString'])
    assert.equal((await site.browser().visit(`/api/auth/sign-in?error=${error}`)).status, 200);
});
