// Invitations by link: used once, by an account that is signed in or at the Git host; and the answer of a link that is
// not open.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openHttpReceiver } from '#test/setup/http-receiver.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';

let site: TestSignIn;
let at: string;
before(async () => {
  site = await startSignIn();
  at = `/orgs/${site.control.organizationId}/invitations`;
});
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

async function makeLink(role = 'member'): Promise<{ id: string; url: string; code: string }> {
  const { status, body } = await site.control.call('POST', at, { role });
  assert.equal(status, 201);
  return { id: body.id, url: body.url, code: new URL(body.url).searchParams.get('code')! };
}

function asHostUser(login: string): void {
  site.host.user(login);
  site.host.state.signedIn = login;
}

async function rolesOf(browser: TestBrowser): Promise<string[] | null> {
  const user = await browser.request('/api/user');
  if (user.status !== 200) return null;
  const { organizations } = (await user.json()) as { organizations: { role: string }[] };
  return organizations.map(({ role }) => role);
}

/** Somebody with an account and no organization, signed in. */
async function signedIn(login: string): Promise<TestBrowser> {
  const { accountId } = await site.control.account(login);
  const { sessions } = site.deps.signIn;
  const browser = site.browser();
  const value = await sessions.open({ accountId, tokenId: null, userAgent: null, address: null });
  browser.cookies.set('platform-session', value);
  return browser;
}

test('a link lets one person in by the Git host, with its role, and nobody after', async () => {
  const { url, code } = await makeLink('viewer');
  const browser = site.browser();
  const page = await browser.visit(url);
  assert.match(page.text, /You are invited to <strong>acme<\/strong> as\s+<strong>viewer<\/strong>/);
  // Opened again, as mail programs do: still open.
  assert.equal((await browser.visit(url)).status, 200);
  asHostUser('linus');
  assert.equal((await browser.submit('/api/auth/invitation/git-host', { code })).url, `${site.ui}/`);
  assert.deepEqual(await rolesOf(browser), ['viewer']);
  asHostUser('late');
  const late = site.browser();
  assert.equal((await late.submit('/api/auth/invitation/git-host', { code })).status, 404);
  assert.equal(await rolesOf(late), null);
  const events = await site.deps.sql<{ details: object; organization_id: string }[]>`
    SELECT details, organization_id FROM control.audit_event WHERE action = 'member.join'`;
  assert.deepEqual([...events], [{ details: { role: 'viewer' }, organization_id: site.control.organizationId }]);
});

test('a link that is used up while somebody is at the Git host lets them not in', async () => {
  const { code } = await makeLink();
  asHostUser('slow');
  const slow = site.browser();
  const { url } = await slow.submit('/api/auth/invitation/git-host', { code }, (to) => to.includes('/callback/'));
  await (await signedIn('quick')).submit('/api/auth/invitation', { code });
  assert.equal((await slow.visit(url)).url, `${site.ui}/api/auth/sign-in?error=not_invited`);
  assert.equal((await site.deps.sql`SELECT 1 FROM control.account WHERE login = 'slow'`).length, 0);
});

test('of two who use a link at once, one joins', async () => {
  const { code } = await makeLink();
  const both = await Promise.all(['first', 'second'].map(signedIn));
  await Promise.all(both.map((browser) => browser.submit('/api/auth/invitation', { code })));
  const roles = await Promise.all(both.map(rolesOf));
  assert.deepEqual(roles.flat(), ['member']);
});

test('an account that is signed in joins, and a member leaves the link open', async () => {
  const { url, code } = await makeLink('admin');
  const owner = site.browser();
  await owner.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  assert.match((await owner.visit(url)).text, /who is already a\s+member/);
  await owner.submit('/api/auth/invitation', { code });
  assert.deepEqual(await rolesOf(owner), ['owner']);
  const browser = await signedIn('joan');
  assert.match((await browser.visit(url)).text, /signed in as <strong>joan<\/strong>/);
  assert.equal((await browser.submit('/api/auth/invitation', { code })).url, `${site.ui}/`);
  assert.deepEqual(await rolesOf(browser), ['admin']);
});

test('who signs in by a link comes back to it', async () => {
  const { url } = await makeLink();
  const browser = site.browser();
  const { text } = await browser.visit(url);
  const [, redirect] = /sign-in\?redirect=([^"]+)"/.exec(text)!;
  const back = await browser.submit('/api/auth/sign-in/token', {
    token: site.control.owner.token,
    redirect: decodeURIComponent(redirect!),
  });
  assert.equal(back.url, url);
});

test('links that are unknown, used, revoked or expired get the same answer', async () => {
  const [used, revoked, expired] = [await makeLink(), await makeLink(), await makeLink()];
  const browser = await signedIn('prober');
  await browser.submit('/api/auth/invitation', { code: used.code });
  assert.equal((await site.control.call('DELETE', `${at}/${revoked.id}`)).status, 204);
  await site.deps.sql`UPDATE control.invitation SET expires_at = now() - interval '1 second' WHERE id = ${expired.id}`;
  const codes = ['pli_unknown', '', used.code, revoked.code, expired.code];
  for (const asked of [browser, site.browser()]) {
    const answers = [];
    for (const code of codes) {
      const seen = await asked.visit(`/api/auth/invitation?${new URLSearchParams({ code })}`);
      answers.push([seen.status, seen.text]);
    }
    assert.equal(answers[0]![0], 404);
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
  }
  for (const code of codes) {
    assert.equal((await browser.submit('/api/auth/invitation', { code })).status, 404);
    assert.equal((await site.browser().submit('/api/auth/invitation/git-host', { code })).status, 404);
  }
});

test('a link is listed without its code, and kept as a hash', async () => {
  const { id, code } = await makeLink();
  const { body } = await site.control.call('GET', at);
  const [listed] = (body.items as { id: string }[]).filter((one) => one.id === id);
  assert.deepEqual(Object.keys(listed!).toSorted(), [
    'createdAt',
    'email',
    'expiresAt',
    'id',
    'login',
    'organizationId',
    'organizationName',
    'role',
  ]);
  const rows = await site.deps.sql`
    SELECT i::text FROM control.invitation i UNION ALL SELECT e::text FROM control.audit_event e`;
  assert.doesNotMatch(JSON.stringify(rows), new RegExp(code));
});

test('a link ends with the membership of who made it', async () => {
  const { organizationId } = site.control;
  const kim = await site.control.account('kim', { [organizationId]: 'admin' });
  const { body } = await site.control.call('POST', at, { role: 'admin' }, kim.token);
  await site.control.call('DELETE', `/orgs/${organizationId}/members/${kim.accountId}`);
  assert.equal((await site.browser().visit(body.url)).status, 404);
});

test('members and viewers make no links, and nobody gives a role above admin', async () => {
  const { organizationId } = site.control;
  const member = await site.control.account('max', { [organizationId]: 'member' });
  assert.equal((await site.control.call('POST', at, { role: 'viewer' }, member.token)).status, 403);
  assert.equal((await site.control.call('POST', at, { role: 'owner' })).status, 400);
  assert.equal((await site.control.call('POST', at, { role: 'viewer', expiresInDays: 31 })).status, 400);
});

test('pages of other sites use no link', async () => {
  const { code } = await makeLink();
  const browser = await signedIn('lured');
  for (const path of ['/api/auth/invitation', '/api/auth/invitation/git-host']) {
    const headers = { origin: 'https://evil.example' };
    const sent = await browser.request(path, { method: 'POST', headers, body: new URLSearchParams({ code }) });
    assert.equal(sent.status, 403);
  }
  assert.deepEqual(await rolesOf(browser), []);
});

test('a link is sent by mail, and is then shown to nobody else', async (t) => {
  const receiver = await openHttpReceiver();
  t.after(() => receiver.goAway());
  const invited = { email: 'Zoe@example.com', role: 'member' };
  const none = await site.control.call('POST', at, invited);
  assert.deepEqual(
    [none.status, none.body.message],
    [501, 'This platform sends no mail: its operator sets AUTH_MAIL_URL'],
  );
  site.control.mailBy(`${receiver.url}/mail`);
  t.after(() => site.control.mailBy(null));
  const made = await site.control.call('POST', at, invited);
  assert.deepEqual([made.status, made.body.url, made.body.email], [201, null, 'Zoe@example.com']);
  const [letter] = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, string>);
  assert.deepEqual([letter!['to'], letter!['subject']], ['Zoe@example.com', 'Join acme']);
  const [link] = /http:\S+/.exec(letter!['text']!)!;
  assert.equal((await site.browser().visit(link)).status, 200);

  site.control.mailBy('http://127.0.0.1:9/');
  const failed = await site.control.call('POST', at, { email: 'yan@example.com', role: 'member' });
  assert.equal(failed.status, 503);
  const { body } = await site.control.call('GET', at);
  assert.ok(!(body.items as { email: string | null }[]).some(({ email }) => email === 'yan@example.com'));
});
