// Git hosts that are used with access tokens, at the API: what is refused, that tokens and hosts never mix, and what
// the operator sees of a host that has a problem.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { workOnChecks } from '#control/git-host/token-repositories.ts';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import { tokenContract, type TokenContractHost } from '#test/setup/contract-hosts.ts';
import { startControl } from '#test/setup/control.ts';
import { giteaDialect } from '#test/setup/token-hosts/gitea.ts';
import { gitlabDialect } from '#test/setup/token-hosts/gitlab.ts';
import { startTokenHost } from '#test/setup/token-hosts/token-host.ts';

let connected: ConnectedHost;
let gitea: TokenContractHost;
let gitlab: TokenContractHost;
before(async () => {
  connected = await startConnectedHost({ GIT_REMOTE_PRIVATE_HOSTS: '127.0.0.1' });
  gitea = await tokenContract(connected, 'gitea', 'Code', giteaDialect);
  gitlab = await tokenContract(connected, 'gitlab', 'GitLab', gitlabDialect);
});
after(async () => {
  await gitea.close();
  await gitlab.close();
  await connected.close();
});

const call = (method: string, path: string, body?: unknown, token?: string) =>
  connected.control.call(method, path, body, token);

test('the operator adds a host that answers, under a name and a URL of its own', async () => {
  const closed = await startTokenHost(giteaDialect);
  await closed.close();
  const cases: [object, number, RegExp][] = [
    [{ kind: 'gitea', name: 'A' }, 400, /url: it is self-hosted: pass its URL/],
    [{ kind: 'bitbucket', name: 'A', url: 'https://bitbucket.org' }, 400, /url must end with the workspace: pass the/],
    [{ kind: 'svn', name: 'A', url: 'https://x' }, 400, /kind/],
    [{ kind: 'gitea', name: 'A', url: 'git.example' }, 400, /must be a URL such as https/],
    [{ kind: 'gitea', name: 'A', url: 'https://git.example/?x=1' }, 400, /must be a URL such as https/],
    [{ kind: 'gitea', name: 'A', url: 'https://ada:pw@git.example' }, 400, /must not hold a user or a password/],
    [{ kind: 'gitea', name: 'A', url: 'http://git.example' }, 400, /must begin with https:\/\//],
    [{ kind: 'gitea', name: 'A', url: 'https://10.0.0.1' }, 400, /private address, unless GIT_REMOTE_PRIVATE_HOSTS/],
    [{ kind: 'gitea', name: 'A', url: 'https://localhost' }, 422, /its address is not public/],
    [{ kind: 'gitea', name: 'A', url: closed.url }, 422, /Gitea \(127\.0\.0\.1:\d+\) is not responding: ECONNREFUSED/],
    [
      { kind: 'gitea', name: 'A', url: gitlab.host.url },
      422,
      /^There is no Gitea at http:.*answered 404 to GET \/version/,
    ],
    [{ kind: 'bitbucket', name: 'A', url: `${gitlab.host.url}/acme` }, 422, /Bitbucket Data Center is not supported/],
    [{ kind: 'forgejo', name: 'code', url: gitea.host.url }, 409, /The Git host "Code" .* exists already/],
    [{ kind: 'forgejo', name: 'Other', url: `${gitea.host.url}/` }, 409, /exists already/],
  ];
  for (const [body, status, message] of cases) {
    const answer = await call('POST', '/git-hosts', body);
    assert.equal(answer.status, status, JSON.stringify([body, answer.body]));
    assert.match(answer.body.message, message);
  }
  const listed = await call('GET', '/git-hosts');
  assert.deepEqual(
    listed.body.hosts.map(({ name, kind, url }: Record<string, string>) => [name, kind, url]),
    [
      ['Code', 'gitea', gitea.host.url],
      ['GitLab', 'gitlab', gitlab.host.url],
    ],
  );
  const member = await connected.control.account('grace', { [connected.control.organizationId]: 'owner' });
  const body = { kind: 'gitlab', name: 'Mine' };
  assert.equal((await call('POST', '/git-hosts', body, member.token)).status, 403);
});

test('without GIT_REMOTE_PRIVATE_HOSTS, a host on a private address is refused', async () => {
  const control = await startControl();
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  const { status, body } = await control.call('POST', '/git-hosts', { kind: 'gitea', name: 'A', url: gitea.host.url });
  assert.equal(status, 400);
  assert.match(body.message, /must begin with https:\/\/, unless GIT_REMOTE_PRIVATE_HOSTS names its host/);
  await control.close();
});

test('a token that is unknown, expired or lacks a scope is refused with what it needs', async () => {
  const { organizationId } = connected.control;
  const connect = async (host: TokenContractHost, token: string): Promise<[number, string]> => {
    const { status, body } = await call('POST', `/git-hosts/${host.hostId}/accounts`, { organizationId, token });
    return [status, body.message];
  };
  assert.deepEqual(await connect(gitea, gitea.host.token('ada', ['write:issue'])), [
    422,
    'The token lacks read:user and write:repository: create an access token with the scopes read:user, write:repository and write:issue',
  ]);
  assert.deepEqual(await connect(gitlab, gitlab.host.token('ada', ['read_api'])), [
    422,
    'The token lacks api: create a group, project or personal access token with the scope api and the role Maintainer',
  ]);
  for (const host of [gitea, gitlab]) {
    const [status, message] = await connect(host, 'not-a-token-of-it');
    assert.equal(status, 422);
    assert.match(message, /refused the access token: it has expired or was revoked/);
    assert.ok(!message.includes('not-a-token-of-it'));
  }
  assert.equal((await connect(gitea, 'with spaces in it'))[0], 400);
  const viewer = await connected.control.account('vera', { [organizationId]: 'member' });
  const body = { organizationId, token: gitea.host.token('ada') };
  assert.equal((await call('POST', `/git-hosts/${gitea.hostId}/accounts`, body, viewer.token)).status, 403);
});

test('tokens are stored sealed and never shown', async () => {
  const { organizationId, sql } = connected.control;
  const { body } = await call('GET', `/git-accounts?organizationId=${organizationId}`);
  assert.deepEqual(
    body.accounts.map(({ hostName, login, problem }: Record<string, unknown>) => [hostName, login, problem]),
    [
      ['Code', 'ada', null],
      ['GitLab', 'ada', null],
    ],
  );
  assert.equal(body.accounts[1].expiresAt, '2099-01-31T00:00:00.000Z');
  const rows = await sql<{ token: Buffer }[]>`SELECT token FROM control.installation WHERE token IS NOT NULL`;
  for (const host of [gitea, gitlab])
    for (const token of host.host.state.tokens.keys()) {
      assert.ok(!JSON.stringify(body).includes(token));
      for (const row of rows) assert.ok(!row.token.toString('latin1').includes(token));
    }
});

test('two hosts with one repository name and one id never mix', async () => {
  const other = await tokenContract(connected, 'forgejo', 'Second', giteaDialect);
  gitea.host.state.lastId = other.host.state.lastId = 7000;
  const [one, two] = [await gitea.connect('same'), await other.connect('same')];
  const sha = await one.push('main', { a: '1' });
  assert.equal((await connected.deployments(one.projectId)).length, 1);
  assert.equal((await connected.deployments(two.projectId)).length, 0);
  assert.equal(one.statuses()[0]![0], sha);
  assert.deepEqual(two.statuses(), []);
  const { delivery } = one.lastDelivery();
  const at = delivery.url.replace(gitea.hostId, other.hostId);
  const answer = await connected.control.fetch(new Request(at, { method: 'POST', ...delivery }));
  assert.equal(answer.status, 401);
  // The same name and id at the host of GITHOST_URL.
  const renamed = { id: 7001, full_name: 'acme/renamed', name: 'renamed', default_branch: 'x' };
  await connected.deliver('repository', {
    action: 'deleted',
    repository: renamed,
    installation: { id: connected.installation.id },
  });
  const [row] = await connected.control.sql<{ disconnected_at: Date | null }[]>`
    SELECT disconnected_at FROM control.repository WHERE id = ${one.repositoryId}`;
  assert.equal(row!.disconnected_at, null);
  assert.equal((await call('DELETE', `/git-hosts/${other.hostId}`)).status, 409);
  assert.equal((await call('DELETE', `/git-hosts/${other.hostId}?disconnect=true`)).status, 204);
  assert.equal((await call('GET', `/git-hosts/${other.hostId}/status`)).status, 404);
  await other.close();
});

test('the webhook secret of one repository is refused for another', async () => {
  const [mine, theirs] = [await gitea.connect('mine'), await gitea.connect('theirs')];
  await theirs.push('main', { a: '1' });
  const about = theirs.lastDelivery().delivery;
  const [own, foreign] = ['mine', 'theirs'].map((name) =>
    gitea.host.state.repositories.find(({ fullName }) => fullName === `acme/${name}`)!,
  );
  assert.notEqual(own!.hooks[0]!.secret, foreign!.hooks[0]!.secret);
  const post = async (url: string, secret: string): Promise<number> => {
    const hook = { ...own!.hooks[0]!, secret };
    const headers = {
      'content-type': 'application/json',
      ...giteaDialect.headers(hook, 'push', about.body, 'another-1'),
    };
    return (await connected.control.fetch(new Request(url, { method: 'POST', headers, body: about.body }))).status;
  };
  assert.equal(await post(foreign!.hooks[0]!.url, own!.hooks[0]!.secret), 401);
  assert.equal(await post(own!.hooks[0]!.url, own!.hooks[0]!.secret), 400);
  assert.equal((await connected.deployments(mine.projectId)).length, 0);
});

test('a webhook that was deleted, changed or disabled is repaired, and removed with its repository', async () => {
  for (const [index, host] of [gitea, gitlab].entries()) {
    const { repositoryId } = await host.connect(`hooked-${index}`);
    const { hooks } = host.host.state.repositories.at(-1)!;
    const check = async (): Promise<string> => {
      const { status, body } = await call('POST', `/repositories/${repositoryId}/check`);
      assert.equal(status, 200, JSON.stringify(body));
      return body.webhook;
    };
    assert.equal(await check(), 'kept');
    hooks[0]!.events = [];
    assert.equal(await check(), 'updated');
    hooks[0]!.isActive = false;
    assert.equal(await check(), 'updated');
    hooks.length = 0;
    assert.equal(await check(), 'created');
    const [hook, ...more] = hooks;
    assert.deepEqual(more, []);
    assert.ok(hook!.isActive && hook!.events.includes(host.host.dialect.events.push));
    assert.equal((await call('DELETE', `/repositories/${repositoryId}`)).status, 204);
    await host.host.settled();
    while (hooks.length > 0) await new Promise((resume) => setImmediate(resume));
  }
});

test('a new name is known from the next push on, also where another repository took the earlier name', async () => {
  const site = await gitea.connect('named');
  const repository = gitea.host.state.repositories.at(-1)!;
  await site.push('main', { a: '1' });
  repository.fullName = 'acme/renamed';
  const other = gitea.host.repository('acme/named', ['ada']);
  const sha = await site.push('main', { a: '2' });
  assert.equal(site.statuses().at(-1)![0], sha);
  assert.deepEqual(other.statuses, []);
  const [row] = await connected.control.sql<{ full_name: string; url: string }[]>`
    SELECT full_name, url FROM control.repository WHERE id = ${site.repositoryId}`;
  assert.deepEqual(row, { full_name: 'acme/renamed', url: `${gitea.host.url}/acme/renamed` });
});

test('a repository that the account cannot see, or cannot administer, is refused', async () => {
  const { organizationId } = connected.control;
  const connect = (hostId: number, installationId: string) =>
    call('POST', '/repositories', { organizationId, source: 'git-host', installationId, hostId: String(hostId) });
  for (const host of [gitea, gitlab]) {
    const hidden = host.host.repository('others/hidden', ['grace']);
    assert.equal((await connect(hidden.id, host.accountId)).status, 404);
    hidden.writers.add('ada');
    const { status, body } = await connect(hidden.id, host.accountId);
    assert.equal(status, 422);
    assert.match(body.message, /cannot manage webhooks of others\/hidden: it must administer the repository/);
  }
  const foreign = await connected.control.organization('foreign');
  await connected.control
    .sql`UPDATE control.installation SET organization_id = ${foreign} WHERE id = ${gitea.accountId}`;
  assert.equal((await connect(1, gitea.accountId)).status, 404);
  await connected.control.sql`
    UPDATE control.installation SET organization_id = ${organizationId} WHERE id = ${gitea.accountId}`;
});

test('the operator sees a host that is away and a token that is refused, until a new one is connected', async () => {
  const { control } = connected;
  const { organizationId, sql } = control;
  const site = await gitea.connect('watched');
  const status = async (): Promise<{ waitingReports: number; problems: string[] }> =>
    (await call('GET', `/git-hosts/${gitea.hostId}/status`)).body;
  await site.push('main', { a: '1' });
  const again = async (table: 'git_report' | 'webhook_received'): Promise<void> => {
    await sql`UPDATE control.${sql(table)} SET due_at = now() WHERE due_at IS NOT NULL`;
    await connected.work();
  };
  gitea.fail([500, 500, 500]);
  await sql`UPDATE control.git_report SET due_at = now(), told = NULL WHERE deployment_id = (
    SELECT id FROM control.deployment WHERE project_id = ${site.projectId})`;
  await connected.work();
  const told = await status();
  assert.equal(told.waitingReports, 1);
  assert.match(told.problems[0]!, /^1 reports of deployments wait: Code \(127.*\) answered 500 to POST /);
  await again('git_report');
  assert.deepEqual((await status()).problems, []);

  // A push that comes while the host does not answer is deployed once it does.
  gitea.fail([502, 503, 504]);
  await site.push('later', { a: '2' });
  assert.equal((await connected.deployments(site.projectId)).length, 1);
  await again('webhook_received');
  assert.equal((await connected.deployments(site.projectId)).at(-1)!.branch, 'later');

  gitea.expire!(true);
  await sql`UPDATE control.repository SET checked_at = NULL WHERE id = ${site.repositoryId}`;
  await workOnChecks(control.deps);
  const [problem] = (await status()).problems;
  assert.match(problem!, /^The token of ada \(organization acme\): Code \(.*\) refused the access token/);
  const { body } = await call('GET', `/git-accounts?organizationId=${organizationId}`);
  assert.match(body.accounts[0].problem, /^Code .* refused the access token/);

  const token = gitea.host.token('ada');
  const renewed = await call('POST', `/git-hosts/${gitea.hostId}/accounts`, { organizationId, token });
  assert.deepEqual([renewed.status, renewed.body.id, renewed.body.problem], [201, gitea.accountId, null]);
  await workOnChecks(control.deps);
  assert.deepEqual((await status()).problems, []);
});

test('a host that stays away is asked a limited number of times', async () => {
  const { sql } = connected.control;
  const site = await gitlab.connect('limited');
  await site.push('main', { a: '1' });
  gitlab.fail([500, 500, 500]);
  await sql`UPDATE control.git_report SET due_at = now(), told = NULL, attempt = 21
             WHERE deployment_id IN (SELECT id FROM control.deployment WHERE project_id = ${site.projectId})`;
  await connected.work();
  const [row] = await sql<{ attempt: number; due_at: Date | null; error: string }[]>`
    SELECT attempt, due_at, git_report.error FROM control.git_report
      JOIN control.deployment ON deployment.id = deployment_id WHERE project_id = ${site.projectId}`;
  assert.deepEqual([row!.attempt, row!.due_at], [22, null]);
  assert.match(row!.error, /^GitLab .* answered 500/);
});

test('a removed account disconnects its repositories, and another connects them again', async () => {
  const { organizationId, sql } = connected.control;
  const site = await gitlab.connect('handed');
  const removed = await call('DELETE', `/git-accounts/${gitlab.accountId}?organizationId=${organizationId}`);
  assert.equal(removed.status, 204);
  const reason = async (): Promise<string | null> => {
    const [row] = await sql<{ disconnect_reason: string | null }[]>`
      SELECT disconnect_reason FROM control.repository WHERE id = ${site.repositoryId}`;
    return row!.disconnect_reason;
  };
  assert.equal(await reason(), 'the account on the Git host was disconnected: connect the repository again');
  const token = gitlab.host.token('ada');
  const account = await call('POST', `/git-hosts/${gitlab.hostId}/accounts`, { organizationId, token });
  const { id } = gitlab.host.state.repositories.at(-1)!;
  const body = { organizationId, source: 'git-host', installationId: account.body.id, hostId: String(id) };
  const again = await call('POST', '/repositories', body);
  assert.deepEqual([again.status, again.body.repository.id], [201, site.repositoryId]);
  assert.equal(await reason(), null);
});
