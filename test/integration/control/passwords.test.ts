// Signing in with a password: accounts made by a link, changes, recovery, and what an attacker learns or may try.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { createUi } from '#control/sign-in/ui.ts';
import { openHttpReceiver } from '#test/setup/http-receiver.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { until } from '#test/setup/until.ts';
import { withinWindow } from '#test/setup/window.ts';

const PASSWORD = 'violet tin umbrella';
const NEXT = 'seven quiet lanterns';

let site: TestSignIn;
before(async () => {
  site = await startSignIn();
  await site.deps.sql`UPDATE control.account SET is_admin = true WHERE id = ${site.control.owner.accountId}`;
});
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);
afterEach(() => site.control.mailBy(null));

async function codeOf(invitation: object = {}): Promise<string> {
  const at = `/orgs/${site.control.organizationId}/invitations`;
  const { body } = await site.control.call('POST', at, { role: 'member', ...invitation });
  return new URL(body.url).searchParams.get('code')!;
}

/** Creates an account by a link. */
async function join(username: string, password = PASSWORD): Promise<TestBrowser> {
  const browser = site.browser();
  const form = { code: await codeOf(), username, password };
  assert.equal((await browser.submit('/api/auth/invitation/account', form)).url, `${site.ui}/`);
  return browser;
}

const signIn = (username: string, password: string, browser = site.browser()) =>
  browser.submit('/api/auth/sign-in/password', { username, password, redirect: '/projects' });

async function loginOf(browser: TestBrowser): Promise<string | null> {
  const { account } = (await (await browser.request('/api/auth/session')).json()) as {
    account: { login: string } | null;
  };
  return account?.login ?? null;
}

async function recoveryCode(accountId: string): Promise<string> {
  const { status, body } = await site.control.call('POST', `/operator/accounts/${accountId}/recovery-link`, {});
  assert.equal(status, 201);
  return new URL(body.url).searchParams.get('code')!;
}

async function accountIdOf(username: string): Promise<string> {
  const [row] = await site.deps.sql<{ account_id: string }[]>`
    SELECT account_id FROM control.password WHERE username = ${username}`;
  return row!.account_id;
}

test('who is invited by a link creates an account with a password, and signs in with it', async () => {
  const browser = await join('Grace');
  const user = (await (await browser.request('/api/user')).json()) as Record<string, unknown>;
  assert.equal(user['login'], 'Grace');
  assert.equal(user['isOperator'], false);
  assert.deepEqual(
    (user['organizations'] as { role: string }[]).map(({ role }) => role),
    ['member'],
  );
  const again = site.browser();
  assert.match((await again.visit('/api/auth/sign-in')).text, /name="username"/);
  assert.equal((await signIn('grace', PASSWORD, again)).url, `${site.ui}/projects`);
  assert.equal(await loginOf(again), 'Grace');
  const seen = (await (await again.request('/api/user/sign-in')).json()) as object;
  assert.deepEqual(seen, {
    offered: ['password', 'passkey', 'git-host'],
    username: 'Grace',
    hasSecondFactor: false,
    passkeys: 0,
    confirmedEmail: null,
    gitHostLogin: null,
    oidcName: null,
    oidcLogin: null,
  });
});

test('a link that is refused a password or username stays open, and is used once', async () => {
  await join('taken');
  const code = await codeOf();
  const browser = site.browser();
  const refusals: [username: string, password: string, RegExp][] = [
    ['fresh', 'short', /at least 10 characters/],
    ['fresh', 'Password123', /too common/],
    ['TAKEN', PASSWORD, /This username is taken/],
    ['ada', PASSWORD, /This username is taken/],
    ['no spaces', PASSWORD, /A username has letters/],
  ];
  for (const [username, password, message] of refusals) {
    const page = await browser.submit('/api/auth/invitation/account', { code, username, password });
    assert.equal(page.status, 422);
    assert.match(page.text, message);
  }
  const both = await Promise.all(
    ['fresh-1', 'fresh-2'].map((username) =>
      site.browser().submit('/api/auth/invitation/account', { code, username, password: PASSWORD }),
    ),
  );
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 404]);
  const rows = await site.deps.sql`SELECT 1 FROM control.account WHERE login LIKE 'fresh-%'`;
  assert.equal(rows.length, 1);
});

test('an unknown username and a wrong password get the same answer', async () => {
  await join('known');
  const answers = [await signIn('known', 'wrong password'), await signIn('nobody-here', 'wrong password')];
  assert.equal(answers[0]!.status, 401);
  assert.match(answers[0]!.text, /Wrong username or password/);
  assert.equal(answers[0]!.text, answers[1]!.text);
  assert.deepEqual(answers[0]!.headers.getSetCookie(), []);
});

test('passwords are tried ten times in five minutes from an address', async () => {
  const statuses = await withinWindow(300, async () => {
    await site.deps.sql`DELETE FROM control.rate`;
    const found: number[] = [];
    for (let attempt = 0; attempt < 11; attempt++) found.push((await signIn(`user-${attempt}`, 'wrong')).status);
    return found;
  });
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429]);
});

test('passwords of one username are tried twenty times in fifteen minutes, from any addresses, known or not', async () => {
  await join('target');
  for (const username of ['target', 'no-such-target']) {
    const statuses = await withinWindow(900, async () => {
      await site.deps.sql`DELETE FROM control.rate`;
      const found: number[] = [];
      for (let attempt = 0; attempt < 21; attempt++) {
        await site.deps.sql`DELETE FROM control.rate WHERE key LIKE 'password:%'`;
        found.push((await signIn(attempt % 2 === 0 ? username : username.toUpperCase(), 'wrong')).status);
      }
      return found;
    });
    assert.deepEqual(statuses, [...Array<number>(20).fill(401), 429], username);
  }
});

test('changing the password needs the current one, and ends other sessions', async () => {
  const browser = await join('changer');
  const other = site.browser();
  await signIn('changer', PASSWORD, other);
  const before = browser.cookies.get('platform-session');
  const change = (current: string) =>
    browser.submit('/api/auth/password', { username: 'changer', password: NEXT, current });
  assert.match((await change('not the current')).text, /The current password is wrong/);
  assert.equal(await loginOf(other), 'changer');
  assert.equal((await change(PASSWORD)).url, `${site.ui}/account`);
  assert.equal(await loginOf(browser), 'changer');
  assert.notEqual(browser.cookies.get('platform-session'), before);
  assert.equal(await loginOf(other), null);
  assert.equal((await signIn('changer', PASSWORD)).status, 401);
  assert.equal((await signIn('changer', NEXT)).url, `${site.ui}/projects`);
});

test('an account without a password sets one, which pages of other sites cannot', async () => {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  const form = { username: 'ada', password: PASSWORD };
  const foreign = { method: 'POST', headers: { origin: 'https://evil.example' }, body: new URLSearchParams(form) };
  assert.equal((await browser.request('/api/auth/password', foreign)).status, 403);
  assert.equal((await browser.submit('/api/auth/password', form)).url, `${site.ui}/account`);
  assert.equal((await signIn('ada', PASSWORD)).url, `${site.ui}/projects`);
  const signedOut = await site.browser().submit('/api/auth/password', form);
  assert.equal(signedOut.url, `${site.ui}/api/auth/sign-in?redirect=%2Fapi%2Fauth%2Fpassword`);
});

test('a session from before does not go on under the account that signs in', async () => {
  await join('fixated');
  const attacker = await join('attacker');
  const planted = attacker.cookies.get('platform-session')!;
  const victim = site.browser();
  victim.cookies.set('platform-session', planted);
  await signIn('fixated', PASSWORD, victim);
  assert.notEqual(victim.cookies.get('platform-session'), planted);
  assert.equal(await loginOf(attacker), null);
});

test('a link of the operator sets a new password once, and ends sessions', async () => {
  const browser = await join('forgetful');
  const code = await recoveryCode(await accountIdOf('forgetful'));
  const lost = site.browser();
  const page = await lost.visit(`/api/auth/recovery/set?${new URLSearchParams({ code })}`);
  assert.match(page.text, /name="username"\s+value="forgetful"/);
  const form = { code, username: 'forgetful', password: NEXT };
  assert.equal((await lost.submit('/api/auth/recovery/set', { ...form, password: 'Password123' })).status, 422);
  const done = await lost.submit('/api/auth/recovery/set', form);
  assert.match(done.text, /The new password is set/);
  assert.equal(await loginOf(browser), null);
  assert.equal((await signIn('forgetful', NEXT)).url, `${site.ui}/projects`);
  const answers = [];
  for (const given of [code, 'unknown']) {
    answers.push(await lost.visit(`/api/auth/recovery/set?${new URLSearchParams({ code: given })}`));
    assert.equal((await lost.submit('/api/auth/recovery/set', { ...form, code: given })).status, 404);
  }
  assert.deepEqual([answers[0]!.status, answers[0]!.text], [404, answers[1]!.text]);
});

test('of two requests with one recovery link, one sets a password; other links of the account end', async () => {
  await join('twice');
  const accountId = await accountIdOf('twice');
  const [first, second] = [await recoveryCode(accountId), await recoveryCode(accountId)];
  const passwords = ['first sunny window', 'second rainy window'];
  const done = await Promise.all(
    passwords.map((password) =>
      site.browser().submit('/api/auth/recovery/set', { code: first, username: 'twice', password }),
    ),
  );
  assert.deepEqual(done.map(({ status }) => status).toSorted(), [200, 404]);
  const statuses = [];
  for (const password of passwords) statuses.push((await signIn('twice', password)).status);
  assert.deepEqual(statuses.toSorted(), [200, 401]);
  assert.equal((await site.browser().visit(`/api/auth/recovery/set?code=${second}`)).status, 404);
});

test('operators alone create recovery links', async () => {
  const other = await site.control.account('only-admin', { [site.control.organizationId]: 'admin' });
  const at = `/operator/accounts/${site.control.owner.accountId}/recovery-link`;
  assert.equal((await site.control.call('POST', at, {}, other.token)).status, 403);
  assert.equal((await site.control.call('POST', '/operator/accounts/usr_none/recovery-link', {})).status, 404);
});

test('recovery by mail goes to an address that an invitation proved, and says nothing to who asks', async (t) => {
  const receiver = await openHttpReceiver();
  t.after(() => receiver.goAway());
  site.control.mailBy(receiver.url);
  const linkIn = (at: number): URL =>
    new URL(/http:\S+code=\S+/.exec((JSON.parse(receiver.received[at]!.body) as { text: string }).text)![0]);
  await site.control.call('POST', `/orgs/${site.control.organizationId}/invitations`, {
    email: 'zoe@example.com',
    role: 'viewer',
  });
  const code = linkIn(0).searchParams.get('code')!;
  await site.browser().submit('/api/auth/invitation/account', { code, username: 'zoe', password: PASSWORD });
  // An address that a Git host named is not proven.
  await join('unproven');
  await site.deps.sql`UPDATE control.account SET email = 'other@example.com' WHERE login = 'unproven'`;
  const asked = [];
  for (const username of ['nobody-at-all', 'unproven', 'zoe'])
    asked.push(await site.browser().submit('/api/auth/recovery', { username }));
  assert.equal(new Set(asked.map(({ status, text }) => `${status} ${text}`)).size, 1);
  await until(() => receiver.received.length > 1);
  assert.equal((JSON.parse(receiver.received[1]!.body) as { to: string }).to, 'zoe@example.com');
  assert.equal(receiver.received.length, 2);
  const form = { code: linkIn(1).searchParams.get('code')!, username: 'zoe', password: NEXT };
  assert.match((await site.browser().submit('/api/auth/recovery/set', form)).text, /The new password is set/);
});

test('an address for recovery counts once its link was opened by the account that set it', async (t) => {
  const receiver = await openHttpReceiver();
  t.after(() => receiver.goAway());
  site.control.mailBy(receiver.url);
  const browser = await join('rosa');
  const ask = (form: Record<string, string>) => browser.submit('/api/auth/email', form);
  assert.match((await ask({ email: 'rosa@example.com', current: 'wrong' })).text, /The current password is wrong/);
  assert.match((await ask({ email: 'rosa@example.com', current: PASSWORD })).text, /on its way to/);
  const [letter] = receiver.received.map(({ body }) => JSON.parse(body) as { to: string; text: string });
  assert.equal(letter!.to, 'rosa@example.com');
  const link = /http:\S+code=\S+/.exec(letter!.text)![0];
  const code = new URL(link).searchParams.get('code')!;
  const confirmed = async (): Promise<unknown> =>
    ((await (await browser.request('/api/user/sign-in')).json()) as { confirmedEmail: unknown }).confirmedEmail;
  const other = await join('eve');
  assert.equal((await other.visit(link)).status, 404);
  assert.equal((await other.submit('/api/auth/email/confirm', { code })).status, 404);
  assert.match((await site.browser().visit(link)).url, /\/api\/auth\/sign-in\?redirect=/);
  assert.match((await browser.visit(link)).text, /rosa@example\.com/);
  assert.equal(await confirmed(), null);
  const recovery = await recoveryCode(await accountIdOf('rosa'));
  assert.equal((await browser.submit('/api/auth/email/confirm', { code })).url, `${site.ui}/account`);
  assert.equal(await confirmed(), 'rosa@example.com');
  assert.equal((await browser.submit('/api/auth/email/confirm', { code })).status, 404);
  // Links from before went to another address.
  assert.equal((await site.browser().visit(`/api/auth/recovery/set?code=${recovery}`)).status, 404);
  await site.browser().submit('/api/auth/recovery', { username: 'rosa' });
  await until(() => receiver.received.length > 1);
  assert.equal((JSON.parse(receiver.received[1]!.body) as { to: string }).to, 'rosa@example.com');
});

test('what is kept of passwords and links is hashes', async () => {
  await join('kept');
  const code = await recoveryCode(await accountIdOf('kept'));
  const rows = await site.deps.sql`
    SELECT p::text FROM control.password p UNION ALL SELECT s::text FROM control.single_use s
    UNION ALL SELECT e::text FROM control.audit_event e UNION ALL SELECT r::text FROM control.rate r`;
  const kept = JSON.stringify(rows);
  for (const secret of [PASSWORD, code]) assert.ok(!kept.includes(secret));
});

test('where SIGN_IN leaves a way out, it is neither shown nor taken', async () => {
  await join('left-out');
  const askWith = async (ways: readonly ('password' | 'git-host')[], path: string, form?: Record<string, string>) => {
    const ui = createUi({ ...site.forPages, signIn: { ...site.deps.signIn, ways } }, () => new Response('never'));
    const init =
      form === undefined ? {} : { method: 'POST', headers: { origin: site.ui }, body: new URLSearchParams(form) };
    const response = await ui(new Request(`${site.ui}${path}`, init));
    return { status: response.status, text: await response.text() };
  };
  const page = await askWith(['git-host'], '/api/auth/sign-in');
  assert.doesNotMatch(page.text, /sign-in\/password/);
  assert.match(page.text, /sign-in\/git-host/);
  const form = { username: 'left-out', password: PASSWORD };
  assert.equal((await askWith(['git-host'], '/api/auth/sign-in/password', form)).status, 501);
  const created = { ...form, username: 'new-one', code: await codeOf() };
  assert.equal((await askWith(['git-host'], '/api/auth/invitation/account', created)).status, 501);
  assert.equal((await askWith(['git-host'], '/api/auth/recovery/set', { ...form, code: 'x' })).status, 501);
  const other = await askWith(['password'], '/api/auth/sign-in');
  assert.match(other.text, /sign-in\/password/);
  assert.doesNotMatch(other.text, /sign-in\/git-host/);
  assert.equal((await askWith(['password'], '/api/auth/sign-in/git-host')).status, 501);
});
