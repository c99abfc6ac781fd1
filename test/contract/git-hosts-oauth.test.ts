// Accounts that are connected by the OAuth application of a host, over every kind of token host: from the page to a
// push, tokens that expire while they are used, grants that were revoked, and what is refused on the way.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { cloneSource } from '#git/clone-source.ts';
import { sealGrant } from '#git/host/grants.ts';
import { tokenHostKinds, type TokenHostKindName } from '#git/host/token-hosts.ts';
import { gitHostPages } from '#control/git-host/pages.ts';
import { createUiApp } from '#control/sign-in/ui-app.ts';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import { tokenContract } from '#test/setup/contract-hosts.ts';
import { bitbucketDialect } from '#test/setup/token-hosts/bitbucket.ts';
import { giteaDialect } from '#test/setup/token-hosts/gitea.ts';
import { gitlabDialect } from '#test/setup/token-hosts/gitlab.ts';
import { endGrant } from '#test/setup/token-hosts/oauth.ts';
import type { Dialect } from '#test/setup/token-hosts/state.ts';

const UI = 'http://localhost:3002';
const app = createUiApp(gitHostPages);

let connected: ConnectedHost;
before(async () => {
  connected = await startConnectedHost({ GIT_REMOTE_PRIVATE_HOSTS: '127.0.0.1' });
});
after(() => connected.close());
beforeEach(() => connected.control.sql`DELETE FROM control.rate`);

/** A browser of an account, with its cookie of the flow. */
function browserOf(accountId: string) {
  let cookie = '';
  const session = { accountId, id: 's', createdAt: new Date(), expiresAt: new Date(), tokenId: null };
  return async (path: string, form: Record<string, string> | null = null) => {
    const headers = { origin: UI, ...(cookie !== '' && { cookie }) };
    const request = new Request(new URL(path, UI), {
      method: form === null ? 'GET' : 'POST',
      headers,
      body: form === null ? null : new URLSearchParams(form),
    });
    const env = { ...connected.control.deps, session: session as never, network: 'n', address: null };
    const answer = await app.fetch(request, env);
    for (const each of answer.headers.getSetCookie()) cookie = each.split(';')[0]!;
    return { status: answer.status, location: answer.headers.get('location') ?? '', text: await answer.text() };
  };
}
type Browser = ReturnType<typeof browserOf>;

/** Goes to the host. @returns where it leads back to */
async function there(browser: Browser, hostId: string, more: Record<string, string> = {}): Promise<string> {
  const organization = connected.control.organizationId;
  const asked = await browser(`/api/auth/git-hosts/${hostId}/connect`, { organization, redirect: '/back', ...more });
  assert.equal(asked.status, 303, asked.text);
  const answer = await fetch(asked.location, { redirect: 'manual' });
  assert.equal(answer.status, 302, await answer.text());
  return answer.headers.get('location')!;
}

const kinds: [TokenHostKindName, string, Dialect][] = [
  ['gitlab', 'GitLab', gitlabDialect],
  ['gitea', 'Gitea', giteaDialect],
  ['forgejo', 'Forgejo', giteaDialect],
  ['bitbucket', 'Bitbucket', bitbucketDialect],
];

for (const [kind, title, dialect] of kinds)
  test(`${title}: an account is connected by a click, renewed while it is used, and revoked`, async (t) => {
    const { control } = connected;
    const { sql, deps, organizationId } = control;
    const contract = await tokenContract(connected, kind, title, dialect);
    t.after(() => contract.close());
    const { host, hostId, accountId } = contract;
    const { oauth } = host.state;
    const browser = browserOf(control.owner.accountId);

    // The operator enters the application, with the redirect URL that the platform names.
    const { clientId, clientSecret } = oauth;
    const unset = await control.call('GET', '/git-hosts');
    const one = unset.body.hosts.find(({ id }: { id: string }) => id === hostId);
    assert.deepEqual(one.oauth, {
      clientId: null,
      redirectUrl: `${UI}/api/auth/callback/git-hosts/${hostId}`,
      scopes: tokenHostKinds[kind].oauth.scopes,
      advice: tokenHostKinds[kind].oauth.advice,
    });
    assert.equal(one.connectUrl, null);
    oauth.redirectUrl = one.oauth.redirectUrl;
    assert.equal((await browser(`/api/auth/git-hosts/${hostId}/connect?organization=${organizationId}`)).status, 501);
    const set = await control.call('PUT', `/git-hosts/${hostId}/oauth`, { clientId, clientSecret });
    assert.deepEqual([set.status, set.body.oauth.clientId], [200, clientId]);
    assert.ok(!JSON.stringify(set.body).includes(clientSecret));

    // A member connects it: the account that a token had connected keeps its repositories.
    const shop = await contract.connect(`shop-${kind}`);
    const page = await browser(`/api/auth/git-hosts/${hostId}/connect?organization=${organizationId}&redirect=/back`);
    assert.match(page.text, /can then deploy every repository that your account on/);
    const back = await there(browser, hostId);
    const done = await browser(back);
    assert.deepEqual([done.status, done.location], [303, '/back'], done.text);
    const listed = await control.call('GET', `/git-accounts?organizationId=${organizationId}`);
    const account = listed.body.accounts.find(({ hostId: of }: { hostId: string }) => of === hostId);
    assert.deepEqual(
      [account.id, account.credential, account.expiresAt, account.problem],
      [accountId, 'grant', null, null],
    );
    const [grant] = oauth.grants;
    const [stored] = await sql<{ token: Buffer }[]>`SELECT token FROM control.installation WHERE id = ${accountId}`;
    for (const secret of [grant!.access, grant!.refresh, clientSecret])
      assert.ok(!JSON.stringify(listed.body).includes(secret) && !stored!.token.toString('latin1').includes(secret));
    // The code is used up.
    assert.equal((await browser(back)).status, 400);
    assert.deepEqual(await contract.search('shop'), [`acme/shop-${kind}`]);

    const first = await shop.push('main', { a: '1' });
    const git = { privateHosts: deps.git.privateHosts, gitHost: null };
    const clone = () => cloneSource({ sql, keys: deps.keys, folder: deps.folder, ...git }, shop.repositoryId);
    assert.ok('url' in (await clone()));

    // The host ends the access token early: the report of the build renews it.
    const earlier = grant!.access;
    host.state.tokens.get(earlier)!.isExpired = true;
    await sql`UPDATE control.deployment SET status = 'success' WHERE project_id = ${shop.projectId}`;
    await sql`UPDATE control.git_report SET due_at = now(), told = NULL`;
    await connected.work();
    assert.deepEqual(shop.statuses().at(-1), [first, contract.words.success]);
    assert.notEqual(grant!.access, earlier);

    // Tokens that expire within minutes are renewed once, however many processes need them at the same time.
    const soon = { accessToken: grant!.access, refreshToken: grant!.refresh, expiresAt: Date.now() + 1000 };
    const sealed = sealGrant(deps.keys, accountId, soon);
    await sql`UPDATE control.installation SET token = ${sealed} WHERE id = ${accountId}`;
    oauth.requests.length = 0;
    const [, other] = await Promise.all([clone(), clone(), clone(), clone()]);
    assert.deepEqual(oauth.requests, [`${dialect.oauth.token} refresh_token`]);
    assert.equal((other as { readonly redact: readonly string[] }).redact[1], grant!.access);

    // A host that is away is not a revoked grant.
    host.state.tokens.get(grant!.access)!.isExpired = true;
    host.state.failures.push(401, 503);
    await assert.rejects(clone(), { message: /answered 503 to the request of a token/ });

    // The person revokes it on the host: builds say so, and the account shows it.
    endGrant(host.state, grant!);
    await assert.rejects(clone(), (error: Error) => {
      assert.match(error.message, new RegExp(`^${title} .* refused access: the grant was revoked or has expired`));
      for (const secret of [grant!.access, grant!.refresh, clientSecret]) assert.ok(!error.message.includes(secret));
      return true;
    });
    assert.equal((await control.call('POST', `/repositories/${shop.repositoryId}/check`)).status, 422);
    const broken = await control.call('GET', `/git-accounts?organizationId=${organizationId}`);
    assert.match(broken.body.accounts.find(({ id }: { id: string }) => id === accountId).problem, /grant was revoked/);
    await browser(await there(browser, hostId));
    assert.ok('url' in (await clone()));

    // Disconnecting revokes it, where the host can.
    const removed = await control.call('DELETE', `/git-accounts/${accountId}?organizationId=${organizationId}`);
    assert.equal(removed.status, 204);
    await control.settled();
    assert.equal(oauth.grants.at(-1)!.isRevoked, dialect.oauth.revoke !== null);
  });

test('a way back is refused for another state, host, browser, person or organization', async (t) => {
  const { control } = connected;
  const { organizationId } = control;
  const one = await tokenContract(connected, 'gitea', 'One', giteaDialect);
  const two = await tokenContract(connected, 'gitlab', 'Two', gitlabDialect);
  t.after(async () => {
    await one.close();
    await two.close();
  });
  for (const { host, hostId } of [one, two]) {
    const { clientId, clientSecret } = host.state.oauth;
    await control.call('PUT', `/git-hosts/${hostId}/oauth`, { clientId, clientSecret });
  }
  const browser = browserOf(control.owner.accountId);
  const lost = async (visitor: Browser, url: string, status = 400): Promise<void> => {
    const codes = [one.host.state.oauth.requests.length, two.host.state.oauth.requests.length];
    const answer = await visitor(url);
    assert.equal(answer.status, status, answer.text);
    // No code went to a host.
    assert.deepEqual([one.host.state.oauth.requests.length, two.host.state.oauth.requests.length], codes);
  };
  // Mixed up: the answer of one host at the address of the other.
  await lost(browser, (await there(browser, one.hostId)).replace(one.hostId, two.hostId));
  // Fixation: the way back that an attacker began in another browser.
  const grace = await control.account('grace', { [organizationId]: 'owner' });
  const attacker = browserOf(grace.accountId);
  await lost(browser, await there(attacker, one.hostId));
  // The same browser, another person.
  const shared = await there(browser, one.hostId);
  await lost(browserOf(grace.accountId), shared);
  await lost(browser, `/api/auth/callback/git-hosts/${one.hostId}?code=x`);
  // A code of somebody else with the own state: PKCE binds it.
  const stolen = new URL(await there(attacker, one.hostId)).searchParams.get('code')!;
  const own = new URL(await there(browser, one.hostId));
  own.searchParams.set('code', stolen);
  const answer = await browser(own.href);
  assert.equal(answer.status, 422);
  assert.ok(!answer.text.includes(stolen));
  // Refused at the host.
  two.host.state.oauth.signedIn = null;
  assert.match((await browser(await there(browser, two.hostId))).text, /Access was refused at Two/);
  // Members that may not, people of another organization, and a role that was lost meanwhile.
  const member = await control.account('mel', { [organizationId]: 'member' });
  const elsewhere = await control.organization('elsewhere');
  const page = `/api/auth/git-hosts/${one.hostId}/connect`;
  const form = { organization: organizationId, redirect: '/' };
  assert.equal((await browserOf(member.accountId)(page, form)).status, 403);
  assert.equal((await browser(page, { ...form, organization: elsewhere })).status, 404);
  assert.equal((await browser(`${page}?organization=${elsewhere}`)).status, 404);
  const late = await there(attacker, one.hostId);
  await control.sql`UPDATE control.membership SET role = 'member' WHERE account_id = ${grace.accountId}`;
  await lost(attacker, late, 403);
  // No open redirect.
  const outside = await there(browser, one.hostId, { redirect: 'https://evil.example/' });
  assert.equal((await browser(outside)).location, '/');
  // Only operators set applications; a wrong secret says so without it.
  const body = { clientId: 'other', clientSecret: 'wrong-secret' };
  assert.equal((await control.call('PUT', `/git-hosts/${one.hostId}/oauth`, body, grace.token)).status, 403);
  const { clientId } = one.host.state.oauth;
  await control.call('PUT', `/git-hosts/${one.hostId}/oauth`, { ...body, clientId });
  const wrong = await browser(await there(browser, one.hostId));
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /or the secret of the OAuth application is wrong/);
  assert.ok(!wrong.text.includes('wrong-secret'));
  assert.equal((await control.call('DELETE', `/git-hosts/${one.hostId}/oauth`)).status, 204);
  assert.equal((await browser(page, form)).status, 501);
});
