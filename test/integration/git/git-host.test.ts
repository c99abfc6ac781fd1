// The client of the Git host against a host on real sockets, and octokit against the same host: what the host checks
// and answers is what the real one does, so that ours speaks to it too.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Failure } from '#core/failure.ts';
import { openGitHost, type GitHost } from '#git/host/connection.ts';
import { askRest } from '#git/host/rest.ts';
import { installationsOf, readApp, readContents, readInstallation, repositoriesOf } from '#git/host/repositories.ts';
import { startGitHost, type TestGitHost } from '#test/setup/git-host.ts';
import { signDelivery } from '#test/setup/git-host-payloads.ts';
import { octokitApp, octokitWebhooks } from '#test/setup/octokit.ts';

let host: TestGitHost;
let client: GitHost;
before(async () => {
  host = await startGitHost();
  client = open();
});
after(() => host.close());

const open = (more: { readonly now?: () => number; readonly timeoutMs?: number } = {}): GitHost =>
  openGitHost({ ...host, pauseMs: 1, ...more });

test('octokit and the platform get the same of the host', async () => {
  const installation = host.installation('acme', ['ada', 'bob']);
  const shop = host.repository('acme/shop', installation);
  host.repository('acme/other', installation);
  const sha = host.commit(shop, { files: { 'index.html': 'hi' }, message: 'First' });
  const app = await octokitApp({ appId: host.appId, privateKey: host.privateKey, baseUrl: host.apiUrl });
  const { data: ofOctokit } = await app.octokit.request('GET /app');
  assert.deepEqual((await readApp(client)).slug, (ofOctokit as { slug: string }).slug);
  const octokit = await app.getInstallationOctokit(installation.id);
  const { data: branch } = await octokit.request('GET /repos/{owner}/{repo}/branches/{branch}', {
    owner: 'acme',
    repo: 'shop',
    branch: 'main',
  });
  const scope = { installationId: String(installation.id), repositoryId: String(shop.id) };
  const ours = await client.asInstallation(
    { ...scope, permissions: readContents },
    { path: '/repos/acme/shop/branches/main' },
  );
  assert.equal((ours as { commit: { sha: string } }).commit.sha, sha);
  assert.equal((branch as { commit: { sha: string } }).commit.sha, sha);
  assert.deepEqual(await readInstallation(client, scope.installationId), {
    id: scope.installationId,
    accountLogin: 'acme',
    permissions: { contents: 'read', metadata: 'read', statuses: 'write', pull_requests: 'write' },
    isSuspended: false,
  });
});

test('octokit accepts what the host signs, and nothing else', async () => {
  const webhooks = await octokitWebhooks(host.webhookSecret);
  const delivery = signDelivery(host.webhookSecret, 'ping', { zen: 'Keep it simple' });
  const signature = delivery.headers['x-hub-signature-256']!;
  assert.equal(await webhooks.verify(delivery.body, signature), true);
  assert.equal(await webhooks.verify(`${delivery.body} `, signature), false);
});

test('a person sees the installations and repositories that are theirs, page by page', async () => {
  const installation = host.installation('many', ['carol']);
  const first = host.repository('many/site-0', installation);
  for (let index = 1; index <= 100; index++)
    host.state.repositories.push({ ...first, id: first.id + 10_000 + index, fullName: `many/site-${index}` });
  const token = host.userToken('carol');
  assert.deepEqual(
    (await installationsOf(client, token)).map(({ accountLogin }) => accountLogin),
    ['many'],
  );
  const id = String(installation.id);
  const pages = [await repositoriesOf(client, token, id, 1), await repositoriesOf(client, token, id, 2)];
  assert.deepEqual(
    pages.map(({ repositories, hasMore }) => [repositories.length, repositories[0]!.fullName, hasMore]),
    [
      [100, 'many/site-0', true],
      [1, 'many/site-100', false],
    ],
  );
  assert.equal(pages[0]!.repositories[0]!.mayPush, true);
  assert.deepEqual(await installationsOf(client, host.userToken('nobody')), []);
  await assert.rejects(repositoriesOf(client, host.userToken('nobody'), id, 1), { status: 404 });
});

test('an installation token reads one repository, and is kept until five minutes before it ends', async () => {
  const installation = host.installation('tokens', ['ada']);
  const mine = host.repository('tokens/mine', installation);
  const other = host.repository('tokens/other', installation);
  host.commit(mine, { files: { a: 'a' } });
  let now = Date.now();
  const timed = open({ now: () => now });
  const scope = { installationId: String(installation.id), repositoryId: String(mine.id), permissions: readContents };
  const [first, same] = await Promise.all([timed.installationToken(scope), timed.installationToken(scope)]);
  assert.equal(first, same);
  const given = host.state.tokens.get(first)!;
  assert.deepEqual([given.repositoryIds, given.permissions], [[mine.id], { contents: 'read' }]);
  now = given.expiresAt - 5 * 60_000 - 1;
  assert.equal(await timed.installationToken(scope), first);
  const asOther = { ...scope, repositoryId: String(other.id) };
  assert.notEqual(await client.installationToken(asOther), first);
  await assert.rejects(
    client.asInstallation(scope, { path: '/repos/tokens/other/branches/main' }),
    (error: Failure<'git_host'>) => error.status === 404 && error.reason === 'refused',
  );
});

test('a host that fails is asked again, one that refuses is not', async () => {
  host.state.failures.push(503, 502);
  assert.equal((await readApp(client)).slug, 'platform-test');
  host.state.failures.push(500, 500, 500);
  await assert.rejects(readApp(client), { reason: 'unreachable', status: 500 });
  host.state.failures.push(404);
  await assert.rejects(readApp(client), { reason: 'refused', status: 404 });
  assert.equal(host.state.failures.length, 0);
});

test('a rate limit is waited for where that is short, and said where it is long', async () => {
  host.state.failures.push({ status: 429, headers: { 'retry-after': '0' } });
  assert.equal((await readApp(client)).slug, 'platform-test');
  const reset = String(Math.floor(Date.now() / 1000) + 3600);
  host.state.failures.push({ status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset } });
  await assert.rejects(readApp(client), (error: Failure<'git_host'>) => {
    assert.equal(error.reason, 'limited');
    return error.retryAfterMs! > 3_500_000;
  });
});

test('what changes something is not sent twice when it may have arrived', async () => {
  host.state.failures.push(502);
  const asked = host.state.requests.length;
  await assert.rejects(client.asApp({ method: 'POST', path: '/app/nothing', body: {} }), { status: 502 });
  assert.equal(host.state.requests.length, asked + 1);
});

test('errors hold no credential', async () => {
  const token = host.userToken('ada');
  host.state.tokens.delete(token);
  await assert.rejects(installationsOf(client, token), (error: Failure<'git_host'>) => {
    assert.equal(error.status, 401);
    return !JSON.stringify([error.message, error.stack]).includes(token);
  });
  const nobody = openGitHost({ ...host, apiUrl: 'http://127.0.0.1:9', pauseMs: 1 });
  await assert.rejects(readApp(nobody), { reason: 'unreachable', status: 0 });
});

test('an error leaves the credential out, where the host repeats it', async () => {
  const echo = createServer((request, response) => {
    response.writeHead(403).end(JSON.stringify({ message: `Refused: ${request.headers.authorization}` }));
  }).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const apiUrl = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
  try {
    await assert.rejects(askRest({ apiUrl }, { path: '/user' }, { authorization: 'Bearer glpat-0123456789' }), {
      message: 'The Git host answered 403 to GET /user: Refused: Bearer ...',
    });
  } finally {
    echo.close();
  }
});

test('a key that is none is refused at once, with the name of its variable', () => {
  assert.throws(
    () => openGitHost({ ...host, privateKey: 'secret nonsense' }),
    (error: Error) => {
      assert.match(error.message, /^GITHOST_APP_PRIVATE_KEY is not a private key/);
      return !error.message.includes('nonsense');
    },
  );
  openGitHost({ ...host, privateKey: host.privateKey.replaceAll('\n', '\\n') });
  openGitHost({ ...host, privateKey: Buffer.from(host.privateKey).toString('base64') });
});

test('an application of another key is not let in', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other = openGitHost({ ...host, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() });
  await assert.rejects(readApp(other), { status: 401 });
});
