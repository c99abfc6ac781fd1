// An operator creates the GitHub App in the browser: from the page to a deployed push, and what is refused.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { encryptionKeys } from '#core/encryption.ts';
import { openLiveSettings } from '#control/process/live-settings.ts';
import { workOnDeliveries } from '#control/git-host/deliveries.ts';
import { readApplication } from '#git/host/application.ts';
import { pushBody, signDelivery } from '#test/setup/git-host-payloads.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';

const PATH = '/api/auth/git-host-application';

let site: TestSignIn;
before(async () => {
  site = await startSignIn('invited', { isHostKnown: false });
  await site.control.sql`UPDATE control.account SET is_admin = true WHERE id = ${site.control.owner.accountId}`;
});
after(() => site.close());
beforeEach(async () => {
  await site.control.sql`DELETE FROM control.rate`;
  await site.control.sql`DELETE FROM control.setting`;
  await site.control.deps.settings.reload();
});

async function signedIn(token = site.control.owner.token): Promise<TestBrowser> {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token });
  return browser;
}

/** The form of the page that leads to the Git host. */
async function formOf(browser: TestBrowser, more: Record<string, string> = {}) {
  const { text, status, headers } = await browser.visit(
    `${PATH}?${new URLSearchParams({ url: site.host.url, ...more })}`,
  );
  const action = (/<form method="post" action="([^"]+)"/.exec(text)?.[1] ?? '').replaceAll('&amp;', '&');
  const manifest = (/name="manifest" value="([^"]+)"/.exec(text)?.[1] ?? '').replaceAll('&quot;', '"');
  return { text, status, headers, action, manifest };
}

/** Creates it at the Git host. @returns where the Git host sends the browser */
async function createThere({ action, manifest }: { readonly action: string; readonly manifest: string }) {
  const answer = await fetch(action, { method: 'POST', body: new URLSearchParams({ manifest }), redirect: 'manual' });
  return answer.headers.get('location')!;
}

const remove = (query = '') => site.control.call('DELETE', `/git-host/application${query}`);
const audited = async (action: string): Promise<unknown> => {
  const [row] = await site.control.sql`
    SELECT action, actor_id, details FROM control.audit_event WHERE action = ${action} ORDER BY at DESC LIMIT 1`;
  return row;
};

test('an application is created, signs people in, and deploys a push, without a restart', async () => {
  const { control, host, deps } = site;
  const browser = await signedIn();
  const form = await formOf(browser, { redirect: '/setup' });
  assert.equal(form.status, 200);
  assert.match(form.headers.get('content-security-policy')!, new RegExp(`form-action 'self' ${host.url};`));
  const { name, ...manifest } = JSON.parse(form.manifest) as Record<string, unknown>;
  assert.equal(name, 'Platform localhost');
  assert.deepEqual(manifest, {
    url: site.ui,
    hook_attributes: { url: `${site.api}/webhooks/git-host`, active: true },
    redirect_url: `${site.ui}/api/auth/callback/git-host-application`,
    callback_urls: [`${site.ui}/api/auth/callback/git-host`],
    setup_url: `${site.ui}/new?from=git-host`,
    public: false,
    default_permissions: { contents: 'read', metadata: 'read', statuses: 'write', pull_requests: 'write' },
    default_events: ['push', 'repository', 'pull_request', 'delete'],
  });
  const back = await createThere(form);
  const created = await browser.visit(back);
  assert.equal(created.status, 200);
  assert.match(created.text, /<strong>platform-test<\/strong> works at once/);
  assert.match(created.text, new RegExp(`href="${host.url}/apps/platform-test/installations/new"`));
  assert.deepEqual(await audited('git_host.create'), {
    action: 'git_host.create',
    actor_id: control.owner.accountId,
    details: { kind: 'github', name: 'platform-test', url: host.url },
  });

  // Its credentials are sealed, and in no answer of the API.
  const [row] = await control.sql<{ value: Buffer }[]>`SELECT value FROM control.setting WHERE name = 'GITHOST_APP'`;
  const api = async (path: string) => (await fetch(`${site.api}${path}`, authorized())).text();
  const shown = (await api('/operator/settings')) + (await api('/git-host/status')) + (await api('/git-hosts'));
  for (const secret of [host.clientSecret, host.webhookSecret, host.privateKey.split('\n')[1]!]) {
    assert.ok(!row!.value.toString('latin1').includes(secret));
    assert.ok(!shown.includes(secret));
  }
  assert.equal((await readApplication(control.sql, deps.keys))!.appId, host.appId);
  const status = JSON.parse(await api('/git-host/status')) as Record<string, unknown>;
  assert.deepEqual([status['isConfigured'], status['source'], status['createUrl']], [true, 'platform', null]);
  assert.equal(status['installUrl'], `${host.url}/apps/platform-test/installations/new`);

  // The operator links the account there, and connects a repository.
  host.state.signedIn = host.user('ada-at-host').login;
  const linked = await browser.submit('/api/auth/link/git-host?redirect=/new', {});
  assert.equal(linked.url, `${site.ui}/new`, linked.text);
  const [identity] = await control.sql<{ subject: string }[]>`SELECT subject FROM control.identity`;
  assert.equal(identity!.subject, `${host.url} ${host.user('ada-at-host').id}`);
  const installation = host.installation('acme', ['ada-at-host']);
  const repository = host.repository('acme/shop', installation);
  const connected = await post('/repositories', {
    organizationId: control.organizationId,
    source: 'git-host',
    installationId: String(installation.id),
    hostId: String(repository.id),
  });
  const repositoryId = (connected['repository'] as { id: string }).id;
  const { id } = await post('/projects', { name: 'shop', organizationId: control.organizationId });
  await post(`/projects/${String(id)}/repository`, { repositoryId });
  const sha = host.commit(repository, { branch: 'main', files: { a: '1' }, message: 'First' });
  const delivery = signDelivery(host.webhookSecret, 'push', pushBody(host.state, repository, 'main', null, sha));
  const answer = await fetch(`${site.api}/webhooks/git-host`, { method: 'POST', ...delivery });
  assert.equal(answer.status, 202);
  while ((await workOnDeliveries(deps)) > 0);
  const [deployment] = await control.sql`SELECT commit_sha, status FROM control.deployment`;
  assert.deepEqual(deployment, { commit_sha: sha, status: 'queued' });

  // A second one is refused while there is one; so is its removal while repositories are connected.
  assert.match((await formOf(browser)).text, /has the application platform-test on 127\.0\.0\.1\. Remove it first/);
  const kept = await fetch(`${site.api}/git-host/application`, { method: 'DELETE', ...authorized() });
  assert.equal(kept.status, 409);
  const removed = await fetch(`${site.api}/git-host/application?disconnect=true`, {
    method: 'DELETE',
    ...authorized(),
  });
  assert.equal(removed.status, 204);
  assert.equal((await control.sql`SELECT FROM control.repository`).length, 0);
  assert.equal(deps.git.gitHost, null);
  assert.equal(deps.signIn.gitHost.oauth, null);
  assert.equal((await fetch(`${site.api}/webhooks/git-host`, { method: 'POST', ...delivery })).status, 503);
});

const authorized = () => ({ headers: { authorization: `Bearer ${site.control.owner.token}` } });
async function post(path: string, body: unknown): Promise<Record<string, unknown>> {
  const headers = { ...authorized().headers, 'content-type': 'application/json' };
  const answer = await fetch(`${site.api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return JSON.parse(text) as Record<string, unknown>;
}

test('the way back works once, in the browser and for the operator that began, and for their host', async () => {
  const browser = await signedIn();
  const failed = async (visitor: TestBrowser, url: string, pattern: RegExp, status = 400): Promise<void> => {
    const answer = await visitor.visit(url);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, pattern);
    assert.equal(await readApplication(site.control.sql, site.deps.keys), null);
  };
  const lost = /took too long, was started in another browser, or was already completed/;
  // An attacker sends the operator the way back of an application of their own.
  const attacker = await signedIn();
  const theirs = await createThere(await formOf(attacker));
  await failed(browser, theirs, lost);
  // The state is used up by that.
  await failed(attacker, theirs, lost);
  // Another account in the same browser.
  const mixed = await createThere(await formOf(browser));
  const member = await site.control.account('grace', { [site.control.organizationId]: 'owner' });
  await browser.submit('/api/auth/sign-out', {});
  await browser.submit('/api/auth/sign-in/token', { token: member.token });
  await failed(browser, mixed, lost);
  assert.equal((await browser.visit(`${PATH}?url=${site.host.url}`)).status, 403);
  // The states of a sign-in and of this flow cannot stand in for each other.
  const operator = await signedIn();
  const form = await formOf(operator);
  const state = new URL(form.action).searchParams.get('state')!;
  const signIn = await operator.visit(`/api/auth/callback/git-host?code=abc&state=${state}`);
  assert.match(signIn.text, /The sign-in took too long/);
  await failed(operator, `/api/auth/callback/git-host-application?code=abc&state=${state}`, lost);
  // A code works once.
  const back = new URL(await createThere(await formOf(operator)));
  await fetch(`${site.host.apiUrl}/app-manifests/${back.searchParams.get('code')}/conversions`, { method: 'POST' });
  const answer = await operator.visit(back.href);
  assert.match(answer.text, /127\.0\.0\.1 does not know the code: it has expired or was used/);
  assert.ok(!answer.text.includes(back.searchParams.get('code')!));
  // An operator who is none any more.
  const late = await createThere(await formOf(operator));
  await site.control.sql`UPDATE control.account SET is_admin = false WHERE id = ${site.control.owner.accountId}`;
  await failed(operator, late, /operator/, 403);
  await site.control.sql`UPDATE control.account SET is_admin = true WHERE id = ${site.control.owner.accountId}`;
  await failed(operator, '/api/auth/callback/git-host-application?code=abc', lost);
  const stranger = await site.browser().visit(PATH, (url) => url.includes('/sign-in'));
  assert.match(stranger.url, /\/api\/auth\/sign-in\?redirect=/);
});

test('addresses, ways back and answers of the host are checked', async () => {
  const browser = await signedIn();
  const cases: [Record<string, string>, RegExp][] = [
    [{ url: 'javascript:alert(1)' }, /The URL must begin with https:\/\//],
    [{ url: 'https://ada:pw@github.example' }, /must not hold a user or a password/],
    [{ url: 'https://10.0.0.1' }, /must not lead to a private address, unless GIT_REMOTE_PRIVATE_HOSTS/],
    [{ url: 'http://github.example' }, /must begin with https:\/\//],
    [{ url: 'https://github.example/?x=1' }, /must look like/],
    [{ url: '' }, /GitHub cannot send webhooks to http:\/\/localhost:\d+: set PUBLIC_API_URL/],
    [{ organization: '../x' }, /That did not work/],
  ];
  for (const [more, pattern] of cases) {
    const { text, status, action } = await formOf(browser, more);
    assert.match(text, pattern);
    assert.ok(status >= 400, text);
    assert.equal(action, '');
  }
  const named = await formOf(browser, { organization: 'acme', redirect: 'https://evil.example/' });
  assert.match(named.action, new RegExp(`^${site.host.url}/organizations/acme/settings/apps/new\\?state=`));
  assert.doesNotMatch(named.text, /evil/);
  const broken: [Record<string, unknown>, string][] = [
    [{ pem: 'no key' }, 'pem'],
    [{ webhook_secret: null }, 'webhook_secret'],
    [{ webhook_secret: 'short' }, 'webhook_secret'],
    [{ slug: '../..' }, 'slug'],
    [{ id: 'x' }, 'id'],
    [{ client_secret: 'x'.repeat(30_000) }, 'client_secret'],
  ];
  for (const [created, name] of broken) {
    await site.control.sql`DELETE FROM control.rate`;
    site.host.state.created = created;
    const answer = await browser.visit(await createThere(await formOf(browser)));
    assert.equal(answer.status, 502);
    assert.match(answer.text, new RegExp(`"${name}"|&quot;${name}&quot;`));
  }
  site.host.state.created = {};
  site.host.state.failures.push(500, 500, 500);
  assert.match((await browser.visit(await createThere(await formOf(browser)))).text, /127\.0\.0\.1 answered 500/);
  site.host.state.failures.length = 0;
  assert.equal(await readApplication(site.control.sql, site.deps.keys), null);
});

test('variables override a created application; an unreadable one counts as none', async () => {
  const browser = await signedIn();
  await browser.visit(await createThere(await formOf(browser)));
  const { sql, deps } = site.control;
  const open = (environment: Record<string, string>, keys = deps.keys) =>
    openLiveSettings({ sql, keys, log: deps.log, environment });
  assert.equal((await open({})).application()!.slug, 'platform-test');
  const overridden = await open({ GITHOST_CLIENT_ID: 'Iv1.x' });
  assert.equal(overridden.application(), null);
  assert.equal(overridden.applicationVariable, 'GITHOST_CLIENT_ID');
  assert.equal((await open({}, encryptionKeys('fedcba9876543210'.repeat(4)))).application(), null);
  assert.equal((await remove()).status, 204);
  assert.equal((await remove()).status, 404);
});
