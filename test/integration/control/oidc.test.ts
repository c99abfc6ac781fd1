// Signing in with OpenID Connect at a real provider: who is let in, what is linked, and what groups give.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createOidcProvider } from '#control/access/oidc/client.ts';
import { newId } from '#control/records/ids.ts';
import { startOidcProvider, type TestOidcProvider } from '#test/setup/oidc-provider.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';

let site: TestSignIn;
let provider: TestOidcProvider;
before(async () => {
  site = await startSignIn('invited', {
    async oidc(ui) {
      provider = await startOidcProvider(`${ui}/api/auth/callback/oidc`);
      return createOidcProvider(provider.settings, 'a secret of the platform');
    },
  });
});
after(async () => {
  await site.close();
  await provider.close();
});
beforeEach(async () => {
  // Windows of attempts would run into each other.
  await site.deps.sql`DELETE FROM control.rate`;
  Object.assign(provider.settings, { domains: [], groups: [] });
});

const SIGN_IN = '/api/auth/sign-in/oidc';
const PASSWORD = 'violet tin umbrella';

function comes(subject: string, claims: Record<string, unknown> = {}): void {
  const email = `${subject}@example.com`;
  provider.people.set(subject, { preferred_username: subject, name: subject, email, email_verified: true, ...claims });
  provider.signedIn = subject;
}

async function linkOf(role = 'member'): Promise<{ url: string; code: string }> {
  const { body } = await site.control.call('POST', `/orgs/${site.control.organizationId}/invitations`, { role });
  return { url: body.url, code: new URL(body.url).searchParams.get('code')! };
}

/** Lets a person join, and returns their account. */
async function joins(subject: string, claims: Record<string, unknown> = {}): Promise<string> {
  comes(subject, claims);
  const { code } = await linkOf();
  const browser = site.browser();
  await browser.submit('/api/auth/invitation/oidc', { code });
  return (await accountOf(browser))!.id;
}

async function accountOf(browser: TestBrowser): Promise<{ id: string; login: string } | null> {
  const response = await browser.request('/api/auth/session');
  return ((await response.json()) as { account: { id: string; login: string } | null }).account;
}

async function rolesOf(accountId: string): Promise<Record<string, string>> {
  const rows = await site.deps.sql<{ slug: string; role: string }[]>`
    SELECT slug, role FROM control.membership m JOIN control.organization o ON o.id = m.organization_id
    WHERE account_id = ${accountId} ORDER BY slug`;
  return Object.fromEntries(rows.map(({ slug, role }) => [slug, role]));
}

async function ownBrowser(accountId: string): Promise<TestBrowser> {
  const browser = site.browser();
  const { sessions } = site.deps.signIn;
  const value = await sessions.open({ accountId, tokenId: null, userAgent: null, address: null });
  browser.cookies.set('platform-session', value);
  return browser;
}

test('a person joins by an invitation link, and signs in again from the page of the platform', async () => {
  comes('grace', { preferred_username: 'Grace.Hopper', name: 'Grace Hopper' });
  const { url, code } = await linkOf('viewer');
  const browser = site.browser();
  assert.match((await browser.visit(url)).text, /<button class="first">Continue with Acme SSO<\/button>/);
  assert.equal((await browser.submit('/api/auth/invitation/oidc', { code })).url, `${site.ui}/`);
  const account = (await accountOf(browser))!;
  assert.equal(account.login, 'Grace.Hopper');
  assert.deepEqual(await rolesOf(account.id), { acme: 'viewer' });
  assert.deepEqual([...browser.cookies.keys()], ['platform-session']);
  // Used up.
  const late = await site.browser().submit('/api/auth/invitation/oidc', { code });
  assert.match(late.text, /<h1>Invitation not found<\/h1>/);

  const again = site.browser();
  const page = await again.visit('/api/auth/sign-in?redirect=/projects');
  assert.match(page.text, /href="\/api\/auth\/sign-in\/oidc\?redirect=%2Fprojects"\s*>Sign in with Acme SSO/);
  assert.equal((await again.visit(`${SIGN_IN}?redirect=/projects%3Fa=1`)).url, `${site.ui}/projects?a=1`);
  assert.deepEqual(await accountOf(again), account);
  assert.notEqual(again.cookies.get('platform-session'), browser.cookies.get('platform-session'));
  const user = (await (await again.request('/api/user')).json()) as { isOperator: boolean; name: string };
  assert.deepEqual([user.isOperator, user.name], [false, 'Grace Hopper']);
});

test('a person without account or invitation is refused, whether or not their address is one of an account', async () => {
  await site.deps.sql`UPDATE control.account SET email = 'ada@example.com' WHERE login = 'ada'`;
  await site.deps.sql`
    INSERT INTO control.invitation (id, organization_id, login, role, expires_at)
    VALUES (${newId('invitation')}, ${site.control.organizationId}, 'nobody', 'admin', now() + interval '1 day')`;
  const pages = [];
  // An invitation for a login is for one at the Git host.
  for (const subject of ['ada', 'nobody']) {
    comes(subject);
    pages.push(await site.browser().visit(SIGN_IN));
  }
  for (const page of pages) {
    assert.equal(page.url, `${site.ui}/api/auth/sign-in?error=oidc_unknown`);
    assert.match(
      page.text,
      /role="alert">No account here is linked to this sign-in. If you have an account, sign in another/,
    );
    assert.equal(page.text, pages[0]!.text);
  }
  assert.equal((await site.deps.sql`SELECT 1 FROM control.oidc_identity WHERE email = 'ada@example.com'`).length, 0);
});

test('with SIGN_UP=open a person gets an account without organizations, under a login that nobody has', async (t) => {
  const open: TestSignIn = await startSignIn('open', {
    async oidc(ui) {
      const own = await startOidcProvider(`${ui}/api/auth/callback/oidc`);
      t.after(() => own.close());
      own.people.set('7', { preferred_username: 'ADA', email: 'ada@example.com' });
      own.signedIn = '7';
      return createOidcProvider(own.settings, 'a secret of the platform');
    },
  });
  t.after(() => open.close());
  const browser = open.browser();
  await browser.visit(SIGN_IN);
  const user = (await (await browser.request('/api/user')).json()) as { login: string; organizations: unknown[] };
  assert.match(user.login, /^ADA-[0-9a-z]{8}$/);
  assert.deepEqual(user.organizations, []);
});

test('a link that is used up while somebody is at the provider lets them not in', async () => {
  comes('slow');
  const { code } = await linkOf();
  const slow = site.browser();
  const { url } = await slow.submit('/api/auth/invitation/oidc', { code }, (to) => to.includes('/callback/'));
  await site.deps.sql`DELETE FROM control.invitation WHERE link_hash IS NOT NULL`;
  assert.equal((await slow.visit(url)).url, `${site.ui}/api/auth/sign-in?error=oidc_unknown`);
});

test('an account links itself with its current password, and is unlinked where it has another way in', async () => {
  const { accountId } = await site.control.account('linus');
  await site.deps.sql`DELETE FROM control.token WHERE account_id = ${accountId}`;
  const browser = await ownBrowser(accountId);
  comes('linus-there', { name: 'Linus' });
  // Without a password, a sign-in of just now is needed.
  await site.deps.sql`UPDATE control.session SET created_at = created_at - interval '11 minutes'`;
  const stale = await browser.submit('/api/auth/link/oidc', { current: '' });
  assert.equal(stale.url, `${site.ui}/api/auth/sign-in?redirect=%2Fapi%2Fauth%2Flink%2Foidc&error=again`);
  await site.deps.sql`UPDATE control.session SET created_at = now()`;
  const asked = await browser.visit('/api/auth/link/oidc');
  assert.match(asked.text, /<h1>Link Acme SSO<\/h1>/);
  assert.match(asked.text, /<input type="hidden" name="current" value="" \/>/);
  assert.equal((await browser.submit('/api/auth/link/oidc', { current: '' })).url, `${site.ui}/account`);
  const seen = async () => {
    const found = (await (await browser.request('/api/user/sign-in')).json()) as Record<string, unknown>;
    return [found['offered'], found['oidcName'], found['oidcLogin']];
  };
  assert.deepEqual(await seen(), [['password', 'passkey', 'git-host', 'oidc'], 'Acme SSO', 'linus-there']);
  const other = site.browser();
  await other.visit(SIGN_IN);
  assert.deepEqual(await accountOf(other), { id: accountId, login: 'linus' });

  const refused = await browser.submit('/api/auth/link/oidc/remove', { current: '' });
  assert.match(refused.text, /This is the only way to sign in/);
  await browser.submit('/api/auth/password', { username: 'linus', password: PASSWORD });
  const wrong = await browser.submit('/api/auth/link/oidc/remove', { current: 'wrong password' });
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /The current password is wrong/);
  await browser.submit('/api/auth/link/oidc/remove', { current: PASSWORD });
  assert.deepEqual(await seen(), [['password', 'passkey', 'git-host', 'oidc'], 'Acme SSO', null]);
  assert.equal((await site.browser().visit(SIGN_IN)).url, `${site.ui}/api/auth/sign-in?error=oidc_unknown`);
  assert.match((await browser.visit('/api/auth/link/oidc')).text, /name="current" type="password"/);
  assert.equal((await browser.submit('/api/auth/link/oidc', { current: '' })).status, 422);
  const events = await site.deps.sql<{ action: string }[]>`
    SELECT action FROM control.audit_event WHERE subject_id = ${accountId} AND action LIKE 'account.oidc%' ORDER BY seq`;
  assert.deepEqual(
    events.map(({ action }) => action),
    ['account.oidc_add', 'account.oidc_sign_in', 'account.oidc_remove'],
  );
});

test('a sign-in that belongs to another account is not linked, nor a second one to one account', async () => {
  await joins('first');
  const { accountId } = await site.control.account('other');
  const browser = await ownBrowser(accountId);
  provider.signedIn = 'first';
  assert.equal(
    (await browser.submit('/api/auth/link/oidc', { current: '' })).url,
    `${site.ui}/api/auth/sign-in?error=oidc_taken`,
  );
  comes('second');
  const own = await ownBrowser(accountId);
  assert.equal((await own.submit('/api/auth/link/oidc', { current: '' })).url, `${site.ui}/account`);
  comes('third');
  const more = await ownBrowser(accountId);
  assert.equal(
    (await more.submit('/api/auth/link/oidc', { current: '' })).url,
    `${site.ui}/api/auth/sign-in?error=oidc_second`,
  );
  assert.deepEqual(await rolesOf(accountId), {});
});

test('one subject for two people is refused; a person whose name or address changes is not', async () => {
  const accountId = await joins('mary', { name: 'Mary Smith' });
  comes('mary', { name: 'Mary Jones', email: 'mary.jones@example.com' });
  const browser = site.browser();
  await browser.visit(SIGN_IN);
  assert.equal((await accountOf(browser))!.id, accountId);
  comes('mary', { name: 'Mallory', email: 'mallory@example.com', preferred_username: 'mallory' });
  const page = await site.browser().visit(SIGN_IN);
  assert.equal(page.url, `${site.ui}/api/auth/sign-in?error=oidc_somebody_else`);
  assert.match(page.text, /it may have confused you with another person/);
});

test('with OIDC_DOMAINS only confirmed addresses of these domains sign in, also people who are members', async () => {
  const accountId = await joins('dora');
  provider.settings.domains = ['example.com'];
  const outcomes: [email: unknown, isVerified: unknown, isIn: boolean][] = [
    ['dora@EXAMPLE.com', true, true],
    ['dora@example.com', 'true', true],
    ['dora@example.com', false, false],
    ['dora@example.com', undefined, false],
    ['dora@sub.example.com', true, false],
    ['dora@example.com.evil.example', true, false],
    ['"@example.com"@evil.example', true, false],
    ['dora@evilexample.com', true, false],
    [undefined, true, false],
  ];
  for (const [email, isVerified, isIn] of outcomes) {
    comes('dora', { email, email_verified: isVerified });
    const browser = site.browser();
    const { url } = await browser.visit(SIGN_IN);
    assert.equal(url, isIn ? `${site.ui}/` : `${site.ui}/api/auth/sign-in?error=oidc_domain`, String(email));
    assert.equal((await accountOf(browser))?.id, isIn ? accountId : undefined);
  }
});

test('groups add, change and end memberships at each sign-in, and leave those of another origin alone', async () => {
  const [one, two] = [await site.control.organization('one'), await site.control.organization('two')];
  const three = await site.control.organization('three');
  provider.settings.groups = [
    { group: '/staff', organization: 'one', role: 'viewer' },
    { group: '/leads', organization: 'one', role: 'admin' },
    { group: '/staff', organization: 'two', role: 'member' },
    { group: '/staff', organization: 'three', role: 'admin' },
    { group: '/staff', organization: 'missing', role: 'admin' },
  ];
  const signIn = async (groups: unknown) => {
    comes('gil', { groups });
    const browser = site.browser();
    await browser.visit(SIGN_IN);
    return accountOf(browser);
  };
  assert.equal(await signIn(['/guests']), null);
  // A group with a role is an invitation.
  const { id } = (await signIn(['/staff', '/leads']))!;
  assert.deepEqual(await rolesOf(id), { one: 'admin', two: 'member', three: 'admin' });
  const { sql } = site.deps;
  // By hand: a weaker role, and an organization of their own.
  await sql`DELETE FROM control.membership WHERE account_id = ${id} AND organization_id = ${three}`;
  await sql`
    INSERT INTO control.membership (organization_id, account_id, role) VALUES (${three}, ${id}, 'viewer')`;
  await sql`UPDATE control.membership SET role = 'owner' WHERE account_id = ${id} AND organization_id = ${two}`;
  await sql`
    INSERT INTO control.token (id, hash, hint, name, account_id, organization_id, scope)
    VALUES (${newId('token')}, '\\x01', 'plt_', 'of one', ${id}, ${one}, 'read')`;
  const listed = await (await ownBrowser(id)).request(`/api/orgs/${one}/members`);
  const { items } = (await listed.json()) as { items: { role: string; isFromGroup: boolean }[] };
  assert.deepEqual(
    items.map(({ role, isFromGroup }) => [role, isFromGroup]),
    [['admin', true]],
  );
  await signIn('/staff');
  assert.deepEqual(await rolesOf(id), { one: 'viewer', two: 'owner', three: 'viewer' });
  await signIn([]);
  assert.deepEqual(await rolesOf(id), { two: 'owner', three: 'viewer' });
  const [token] = await sql<{ revoked_at: Date | null }[]>`SELECT revoked_at FROM control.token WHERE name = 'of one'`;
  assert.notEqual(token?.revoked_at, null);
  const events = await sql<{ action: string; details: object; actor_kind: string }[]>`
    SELECT action, details, actor_kind FROM control.audit_event
    WHERE subject_id = ${id} AND organization_id = ${one} ORDER BY seq`;
  assert.deepEqual(
    events.map(({ action, details, actor_kind: kind }) => [action, kind, (details as { by: string }).by]),
    [
      ['member.join', 'system', 'group'],
      ['member.update', 'system', 'group'],
      ['member.remove', 'system', 'group'],
    ],
  );
  // Without a list of groups nobody keeps a role by accident.
  comes('gil', { groups: { '/staff': true } });
  const page = await site.browser().visit(SIGN_IN);
  assert.equal(page.url, `${site.ui}/api/auth/sign-in?error=oidc_groups`);
});

test('a person who unlinks leaves what groups gave', async () => {
  await site.control.organization('given');
  provider.settings.groups = [{ group: 'staff', organization: 'given', role: 'member' }];
  const accountId = await joins('uma', { groups: ['staff'] });
  assert.deepEqual(await rolesOf(accountId), { acme: 'member', given: 'member' });
  const browser = await ownBrowser(accountId);
  await browser.submit('/api/auth/password', { username: 'uma', password: PASSWORD });
  await browser.submit('/api/auth/link/oidc/remove', { current: PASSWORD });
  assert.deepEqual(await rolesOf(accountId), { acme: 'member' });
});

test('a person whom the provider refuses sees that on the sign-in page', async () => {
  provider.signedIn = null;
  const page = await site.browser().visit(SIGN_IN);
  assert.equal(page.url, `${site.ui}/api/auth/sign-in?error=oidc_denied`);
  assert.match(page.text, /role="alert">The sign-in was refused at the provider/);
});
