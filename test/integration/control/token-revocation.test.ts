// Revoking a token also revokes the tokens that it created, the sessions that it opened, and what those created.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createHash, randomBytes } from 'node:crypto';
import { newId } from '#control/records/ids.ts';
import { hashOf, newSecret } from '#control/access/secrets.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';

let site: TestSignIn;
let account: string;
before(async () => {
  site = await startSignIn();
  account = site.control.owner.accountId;
});
after(() => site.close());
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

/** A token of the owner, without a parent. */
async function token(more: Readonly<Record<string, string | Date>> = {}): Promise<{ id: string; secret: string }> {
  const { secret, hash } = newSecret('plt');
  const id = newId('token');
  const row = { id, hash, hint: 'plt_', name: 'first', account_id: account, scope: 'admin', ...more };
  await site.deps.sql`INSERT INTO control.token ${site.deps.sql(row)}`;
  return { id, secret };
}

const make = (by: string, body: object = {}) =>
  site.control.call('POST', '/tokens', { name: 'child', scope: 'admin', ...body }, by);
const statusOf = async (secret: string): Promise<number> =>
  (await site.control.call('GET', '/user', undefined, secret)).status;
const revoke = (id: string) => site.control.call('DELETE', `/tokens/${id}`);
const inAnHour = (): Date => new Date(Date.now() + 3_600_000);

async function signedIn(secret: string): Promise<TestBrowser> {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: secret });
  return browser;
}
const sessionStatus = async (browser: TestBrowser): Promise<number> => (await browser.request('/api/user')).status;

test('a token that expires makes none that lives longer', async () => {
  const end = inAnHour();
  const parent = await token({ expires_at: end });
  const child = await make(parent.secret);
  assert.deepEqual([child.status, child.body.expiresAt], [201, end.toISOString()]);
  for (const expiresInDays of [null, 1, 3650]) {
    const refused = await make(parent.secret, { expiresInDays });
    assert.equal(refused.status, 422, String(expiresInDays));
    assert.equal(
      refused.body.message,
      `body.expiresInDays: the new token cannot expire after the token of this request (${end.toISOString()}): leave it out`,
    );
  }
  // Nor does the child, which cannot open a session either.
  assert.equal((await make(child.body.token, { expiresInDays: null })).status, 422);
  const browser = await signedIn(child.body.token);
  assert.equal(await sessionStatus(browser), 401);
});

test('tokens of one organization and of one project are bound in the same way', async () => {
  const { body: project } = await site.control.call('POST', '/projects', {
    name: 'bound',
    organizationId: site.control.organizationId,
  });
  const of = { organization_id: site.control.organizationId, project_id: project.id };
  const parent = await token({ ...of, expires_at: inAnHour() });
  const bound = { organizationId: site.control.organizationId, projectId: project.id };
  assert.equal((await make(parent.secret, { ...bound, expiresInDays: null })).status, 422);
  const child = await make(parent.secret, bound);
  assert.equal(child.status, 201);
  const read = () => site.control.call('GET', `/projects/${project.id}`, undefined, child.body.token);
  assert.equal((await read()).status, 200);
  await revoke(parent.id);
  assert.equal((await read()).status, 401);
});

test('a revoked token takes along all that it made, and what that made', async () => {
  const parent = await token();
  const child = (await make(parent.secret, { expiresInDays: null })).body;
  const grandchild = (await make(child.token, { expiresInDays: null })).body;
  const other = await token();
  assert.deepEqual(await Promise.all([child.token, grandchild.token].map(statusOf)), [200, 200]);
  assert.equal((await revoke(parent.id)).status, 204);
  assert.deepEqual(await Promise.all([child.token, grandchild.token].map(statusOf)), [401, 401]);
  assert.equal(await statusOf(other.secret), 200);
});

test('a session ends with the token that opened it, and so does what it made', async () => {
  const parent = await token();
  const child = (await make(parent.secret, { expiresInDays: null })).body;
  const browser = await signedIn(child.token);
  assert.equal(await sessionStatus(browser), 200);
  const response = await browser.request('/api/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: site.ui },
    body: JSON.stringify({ name: 'of the session', scope: 'admin', expiresInDays: null }),
  });
  const made = (await response.json()) as { token: string };
  assert.equal(await statusOf(made.token), 200);
  await revoke(parent.id);
  assert.equal(await sessionStatus(browser), 401);
  assert.equal(await statusOf(made.token), 401);
  assert.equal((await site.deps.sql`SELECT 1 FROM control.session WHERE token_id = ${child.id}`).length, 0);
});

test('a session in a store without triggers ends with its token, too', async () => {
  const parent = await token();
  const browser = await signedIn(parent.secret);
  // As in Redis, which no trigger reaches.
  const rows = await site.deps.sql`SELECT * FROM control.session WHERE token_id = ${parent.id}`;
  await revoke(parent.id);
  await site.deps.sql`INSERT INTO control.session ${site.deps.sql(rows.map((row) => ({ ...row })))}`;
  assert.equal(await sessionStatus(browser), 401);
});

test('the login of a command line that such a session allowed ends with the token', async () => {
  const parent = await token();
  const browser = await signedIn(parent.secret);
  const verifier = randomBytes(32).toString('base64url');
  const redirect = 'http://127.0.0.1:9876/callback';
  const allow = async (): Promise<string> => {
    const { url } = await browser.submit(
      '/api/auth/authorize',
      {
        response_type: 'code',
        client_id: 'platform-cli',
        redirect_uri: redirect,
        state: 'state-of-the-test',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        decision: 'allow',
      },
      (to) => to.startsWith(redirect),
    );
    return new URL(url).searchParams.get('code')!;
  };
  const exchange = async (code: string) => {
    const form = {
      grant_type: 'authorization_code',
      client_id: 'platform-cli',
      code,
      redirect_uri: redirect,
      code_verifier: verifier,
    };
    const response = await fetch(`${site.api}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
    return { status: response.status, body: (await response.json()) as { access_token: string; error: string } };
  };
  const login = await exchange(await allow());
  assert.equal(login.status, 200);
  assert.equal(await statusOf(login.body.access_token), 200);
  const late = await allow();
  await revoke(parent.id);
  assert.equal(await statusOf(login.body.access_token), 401);
  const refused = await exchange(late);
  assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant']);
});

test('each refusal of the token endpoint has the fields of OAuth, and unknown fields are ignored', async () => {
  const post = async (form: Record<string, string>) => {
    const response = await fetch(`${site.api}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
    const body = (await response.json()) as Record<string, unknown>;
    delete body['requestId'];
    return { status: response.status, body };
  };
  const reason = 'body.grant_type: is missing';
  assert.deepEqual(await post({ client_id: 'platform-cli' }), {
    status: 400,
    body: {
      error: 'invalid_request',
      error_description: reason,
      message: reason,
      code: 'bad_request',
      issues: [{ in: 'body', path: ['grant_type'], message: 'is missing' }],
    },
  });
  const other = await post({ client_id: 'platform-cli', grant_type: 'password', scope: 'all', client_secret: 'x' });
  assert.deepEqual([other.status, other.body['error']], [400, 'unsupported_grant_type']);
});

test('a token for platform dev ends with the token that made it, and no later', async () => {
  const end = inAnHour();
  const parent = await token({ expires_at: end });
  const path = `/orgs/${site.control.organizationId}/ai/dev-token`;
  const { body } = await site.control.call('POST', path, undefined, parent.secret);
  assert.equal(body.expiresAt, end.toISOString());
  const rows = () => site.deps.sql`SELECT 1 FROM control.ai_token WHERE hash = ${hashOf(body.token)}`;
  assert.equal((await rows()).length, 1);
  await revoke(parent.id);
  assert.equal((await rows()).length, 0);
});
