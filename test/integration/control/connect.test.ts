// Connecting repositories: who may, and what they become. Plain remotes, their URL that tells of pushes, deploy hooks.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { cloneSource, type CloneDeps } from '#git/clone-source.ts';
import { gitEnvironment } from '#git/git-environment.ts';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import { commitTo, createBareRepository, runGit } from '#test/setup/git-repositories.ts';

let connected: ConnectedHost;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-connect-'));
const pathBefore = process.env['PATH'];
before(async () => {
  connected = await startConnectedHost({ GIT_REMOTE_PRIVATE_HOSTS: 'localhost' });
  // No server for ssh is at hand: what git would send to one is run here.
  mkdirSync(path.join(folder, 'bin'));
  const script = `#!/bin/sh
echo "$*" >> ${folder}/calls
for last; do :; done
for word; do case "$word" in UserKnownHostsFile=*) known="\${word#*=}";; esac; done
[ -s "$known" ] || echo "localhost ssh-ed25519 AAAA" >> "$known"
exec sh -c "$last"
`;
  writeFileSync(path.join(folder, 'bin/ssh'), script);
  chmodSync(path.join(folder, 'bin/ssh'), 0o755);
  process.env['PATH'] = `${folder}/bin:${pathBefore}`;
});
after(async () => {
  process.env['PATH'] = pathBefore;
  await connected.close();
  rmSync(folder, { recursive: true, force: true });
});

const cloneParts = (): CloneDeps => {
  const { sql, keys, folder: data, git } = connected.control.deps;
  return { ...git, sql, keys, folder: data };
};

test('a person is offered the repositories that are theirs on the Git host', async () => {
  const { host, control, installation } = connected;
  host.repository('acme/one', installation);
  host.repository('others/secret', host.installation('others', ['mallory']));
  const list = (token?: string | null): ReturnType<typeof control.call> =>
    control.call('GET', `/git-host/repositories?organizationId=${control.organizationId}`, undefined, token);
  const { body } = await list();
  assert.deepEqual(
    body.repositories.map(({ fullName, mayPush }: { fullName: string; mayPush: boolean }) => [fullName, mayPush]),
    [['acme/one', true]],
  );
  assert.deepEqual(
    [body.nextCursor, body.problems, body.installUrl],
    [null, [], `${host.url}/apps/platform-test/installations/new`],
  );
  const nobody = await control.account('new', { [control.organizationId]: 'member' });
  const answer = await list(nobody.token);
  assert.deepEqual(
    [answer.status, answer.body.message],
    [422, 'Sign in with the Git host first, which lists your repositories'],
  );
  assert.equal((await list(null)).status, 401);
});

test('repositories are listed page by page, searched, and connected from any page', async () => {
  const { host, control } = connected;
  const { organizationId } = control;
  const large = host.installation('large', ['ada']);
  const first = host.repository('large/site-0', large);
  for (let index = 1; index < 150; index++)
    host.state.repositories.push({ ...first, id: first.id + 20_000 + index, fullName: `large/site-${index}` });
  const list = async (query: string) => {
    const { status, body } = await control.call(
      'GET',
      `/git-host/repositories?organizationId=${organizationId}${query}`,
    );
    assert.equal(status, 200, JSON.stringify(body));
    return body as { repositories: { hostId: string; fullName: string }[]; nextCursor: string | null };
  };
  const found: string[] = [];
  const sizes: number[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await list(`&search=LARGE/${cursor === '' ? '' : `&cursor=${cursor}`}`);
    sizes.push(page.repositories.length);
    found.push(...page.repositories.map(({ fullName }) => fullName));
    cursor = page.nextCursor;
  }
  assert.deepEqual(sizes, [100, 50]);
  assert.equal(new Set(found).size, 150);
  const { repositories, nextCursor } = await list('&search=site-149');
  assert.deepEqual([repositories.map(({ fullName }) => fullName), nextCursor], [['large/site-149'], null]);
  const made = await control.call('POST', '/repositories', {
    organizationId,
    source: 'git-host',
    installationId: String(large.id),
    hostId: repositories[0]!.hostId,
  });
  assert.equal(made.status, 201);
  const broken = await control.call('GET', `/git-host/repositories?organizationId=${organizationId}&cursor=x`);
  assert.equal(broken.status, 400);
});

test('the list says what the application lacks, and why the Git host does not list', async () => {
  const { host, control } = connected;
  const list = () => control.call('GET', `/git-host/repositories?organizationId=${control.organizationId}&search=none`);
  const suspended = host.installation('asleep', ['ada']);
  suspended.isSuspended = true;
  const blind = host.installation('blind', ['ada'], { metadata: 'read' });
  assert.deepEqual((await list()).body.problems, [
    { account: 'asleep', reason: 'The application is suspended for this account: unsuspend it on the Git host' },
    {
      account: 'blind',
      reason: 'The application lacks the permission "Contents: read": accept its permissions on the Git host',
    },
  ]);
  for (const { id } of [suspended, blind]) host.state.installations.delete(id);
  host.state.failures.push(500, 500, 500);
  const away = await list();
  assert.deepEqual(
    [away.status, away.body.message],
    [503, 'The Git host answered 500 to GET /user/installations: Told to fail'],
  );
  host.state.failures.push(401);
  const expired = await list();
  assert.deepEqual(
    [expired.status, expired.body.message],
    [422, 'Your sign-in with the Git host has expired: sign in again'],
  );
  assert.equal((await list()).status, 200);
});

test('only who may push to a repository connects it, and to their own organization', async () => {
  const { host, control, installation } = connected;
  const { organizationId } = control;
  const repository = host.repository('acme/guarded', installation);
  const theirs = host.repository('others/theirs', host.installation('others', ['mallory']));
  const connect = (
    account: string | undefined,
    hostId: number,
    installationId: number,
    organization = organizationId,
  ) =>
    control.call(
      'POST',
      '/repositories',
      {
        organizationId: organization,
        source: 'git-host',
        hostId: String(hostId),
        installationId: String(installationId),
      },
      account,
    );
  const reader = await control.account('reader', { [organizationId]: 'member' });
  installation.users.add('reader');
  await connected.signIn(reader.accountId, 'reader');
  const viewer = await control.account('viewer', { [organizationId]: 'viewer' });
  await connected.signIn(viewer.accountId, 'ada-too');
  const other = await control.organization('elsewhere');
  const answers = [
    await connect(reader.token, repository.id, installation.id),
    await connect(viewer.token, repository.id, installation.id),
    await connect(undefined, theirs.id, theirs.installationId),
    await connect(undefined, theirs.id, installation.id),
    await connect(undefined, repository.id, 99_999),
    await connect(undefined, repository.id, installation.id, other),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [403, 403, 404, 404, 404, 404],
  );
  assert.match(answers[0]!.body.message, /to push to this repository, on the Git host/);
  const first = await connect(undefined, repository.id, installation.id);
  const again = await connect(undefined, repository.id, installation.id);
  assert.deepEqual([first.status, again.status], [201, 201]);
  assert.equal(first.body.repository.id, again.body.repository.id);
  assert.equal(first.body.webhookUrl, null);

  const stranger = await control.account('eve', { [other]: 'owner' });
  const project = await control.call('POST', '/projects', { name: 'theirs', organizationId: other }, stranger.token);
  const body = { repositoryId: first.body.repository.id };
  const stolen = await control.call('POST', `/projects/${project.body.id}/repository`, body, stranger.token);
  assert.equal(stolen.status, 404);
  const deleted = await control.call('DELETE', `/repositories/${body.repositoryId}`, undefined, stranger.token);
  assert.equal(deleted.status, 404);
});

test('a project is connected with a folder of the repository, and a branch', async () => {
  const { control } = connected;
  const { projectId, repositoryId } = await connected.connect('folders', { configPath: './apps/web/' });
  const [row] = await control.sql<{ config_path: string; default_branch: string }[]>`
    SELECT config_path, default_branch FROM control.project WHERE id = ${projectId}`;
  assert.deepEqual({ ...row }, { config_path: 'apps/web', default_branch: 'main' });
  for (const more of [
    { configPath: '/etc' },
    { configPath: '../up' },
    { configPath: 'a/../b' },
    { configPath: 'a\\b' },
    { defaultBranch: '-x' },
    { defaultBranch: 'a..b' },
  ]) {
    const answer = await control.call('POST', `/projects/${projectId}/repository`, { repositoryId, ...more });
    assert.equal(answer.status, 400, JSON.stringify(more));
  }
  const answer = await control.call('POST', `/projects/${projectId}/repository`, {
    repositoryId,
    defaultBranch: 'trunk',
    deploy: true,
  });
  const [deployment] = await connected.deployments(projectId);
  assert.equal(answer.body.deploymentId, deployment!.id);
  assert.deepEqual([deployment!.branch, deployment!.target], ['trunk', 'production']);
  assert.equal((await control.call('DELETE', `/projects/${projectId}/repository`)).status, 204);
});

test('a repository of the Git host is cloned with a token for it alone', async () => {
  const { host } = connected;
  const { repositoryId, repository } = await connected.connect('cloned');
  const other = host.repository('acme/not-this-one', connected.installation);
  const sha = host.commit(repository, { files: { 'index.html': 'hi' } });
  host.commit(other, { files: { secret: 'x' } });
  const source = await cloneSource(cloneParts(), repositoryId);
  assert.ok('url' in source && source.isPlainHttp === true);
  const environment = { PATH: pathBefore, ...(await gitEnvironment(source, folder)) };
  const target = path.join(folder, 'cloned');
  // Git runs beside this process, which is also the host.
  const clone = async (url: string): Promise<number> => {
    const [code] = (await once(
      spawn('git', ['clone', '-q', '--depth', '1', '--', url, target], { env: environment, stdio: 'ignore' }),
      'close',
    )) as [number];
    return code;
  };
  assert.equal(await clone(`${host.url}/acme/not-this-one.git`), 128);
  assert.equal(await clone(source.url), 0);
  assert.equal(runGit(target, ['rev-parse', 'HEAD']), sha);
  const config = runGit(target, ['config', '--list', '--local']);
  for (const secret of source.redact) assert.ok(!config.includes(secret));
});

test('a remote that could run a program, read files or reach inside is refused', async () => {
  const { control } = connected;
  const cases: [string, RegExp][] = [
    ['ext::sh -c whoami', /Only https|without spaces/],
    ['file:///etc', /Only https:\/\/ and ssh:\/\//],
    ['http://git.example/x', /Only https:\/\/ and ssh:\/\//],
    ['https://127.0.0.1/x.git', /not public/],
    ['https://169.254.169.254/latest', /not public/],
    ['https://[::1]/x.git', /not public/],
    ['https://2130706433/x.git', /not public/],
    ['ssh://-oProxyCommand=x@localhost/x', /must have a user/],
    ['ssh://git@localhost/x', /needs a private key/],
  ];
  for (const [url, expected] of cases) {
    const body = { organizationId: control.organizationId, source: 'remote', url };
    const answer = await control.call('POST', '/repositories', body);
    assert.equal(answer.status, 422, url);
    assert.match(answer.body.message, expected);
  }
});

test('a remote is read by ssh, tells of pushes by its URL, and keeps its key encrypted', async () => {
  const { control } = connected;
  const bare = path.join(folder, 'shop.git');
  createBareRepository(bare);
  const first = commitTo(bare, { files: { a: '1' } });
  const sshKey = '-----BEGIN OPENSSH PRIVATE KEY-----\nsecret-of-the-key\n-----END OPENSSH PRIVATE KEY-----\n';
  const made = await control.call('POST', '/repositories', {
    organizationId: control.organizationId,
    source: 'remote',
    url: `ssh://git@localhost${bare}`,
    sshKey,
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { repository, webhookUrl } = made.body;
  assert.equal(repository.defaultBranch, 'main');
  assert.ok(!JSON.stringify(made.body).includes('secret-of-the-key'));
  const [row] = await control.sql<{ credentials: Buffer }[]>`
    SELECT credentials FROM control.repository WHERE id = ${repository.id}`;
  assert.ok(!row!.credentials.toString('latin1').includes('secret-of-the-key'));
  const source = await cloneSource(cloneParts(), repository.id);
  assert.ok('url' in source);
  assert.deepEqual([source.sshKey, source.sshKnownHosts], [sshKey, 'localhost ssh-ed25519 AAAA\n']);

  const { body: project } = await control.call('POST', '/projects', {
    name: 'remote',
    organizationId: control.organizationId,
  });
  await control.call('POST', `/projects/${project.id}/repository`, { repositoryId: repository.id });
  const tell = async (): Promise<string[]> => {
    const at = new URL(webhookUrl as string).pathname;
    const answer = await control.call('POST', at, { ref: 'refs/heads/nonsense' }, null);
    assert.deepEqual([answer.status, answer.body], [202, { outcome: 'accepted' }]);
    await connected.work();
    return (await connected.deployments(project.id)).map(({ branch, commit_sha }) => `${branch} ${commit_sha}`);
  };
  // What was there when it was connected has not moved.
  assert.deepEqual(await tell(), []);
  const second = commitTo(bare, { files: { a: '2' } });
  const topic = commitTo(bare, { branch: 'topic', files: { a: '3' }, after: first });
  assert.deepEqual(await tell(), [`main ${second}`, `topic ${topic}`]);
  assert.deepEqual((await tell()).length, 2);
  assert.equal((await control.call('POST', '/webhooks/remote/prh_wrong', {}, null)).status, 404);
});

test('a deploy hook deploys its branch, and nothing once it is deleted', async () => {
  const { control } = connected;
  const { projectId } = await connected.connect('hooked');
  const hooks = `/projects/${projectId}/deploy-hooks`;
  assert.equal((await control.call('POST', hooks, { name: 'cms', branch: '-x' })).status, 400);
  const { status, body } = await control.call('POST', hooks, { name: 'cms', branch: 'main' });
  assert.equal(status, 201);
  const at = new URL(body.url as string).pathname;
  assert.match(at, /^\/deploy-hooks\/pdh_[\w-]{43}$/);
  const listed = await control.call('GET', hooks);
  assert.deepEqual(listed.body.hooks, [body.hook]);
  assert.ok(!JSON.stringify(listed.body).includes(at));
  const called = await control.call('POST', at, undefined, null);
  assert.equal(called.status, 202);
  const [deployment] = await connected.deployments(projectId);
  assert.deepEqual([deployment!.id, deployment!.source], [called.body.deploymentId, 'hook']);
  assert.equal((await control.call('POST', `${at}x`, undefined, null)).status, 404);
  assert.equal((await control.call('DELETE', `${hooks}/${body.hook.id}`)).status, 204);
  assert.equal((await control.call('POST', at, undefined, null)).status, 404);
});

test('the operator is told what the application lacks', async () => {
  const { host, control } = connected;
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  const read = () => control.call('GET', '/git-host/status');
  assert.deepEqual((await read()).body, {
    isConfigured: true,
    source: 'environment',
    createUrl: null,
    url: host.url,
    webhookUrl: 'http://localhost:4002/webhooks/git-host',
    isWebhookSecretSet: true,
    installUrl: `${host.url}/apps/platform-test/installations/new`,
    missing: [],
    problem: null,
  });
  host.state.app = { permissions: { contents: 'read', metadata: 'read' }, events: ['push'] };
  assert.deepEqual(
    (await read()).body.missing.map(({ name, isRequired }: { name: string; isRequired: boolean }) => [
      name,
      isRequired,
    ]),
    [
      ['statuses: write', false],
      ['pull_requests: write', false],
      ['repository', true],
      ['pull_request', false],
      ['delete', false],
    ],
  );
  host.state.failures.push(500, 500, 500);
  assert.match((await read()).body.problem, /answered 500 to GET \/app/);
  const member = await control.account('plain', { [control.organizationId]: 'owner' });
  assert.equal((await control.call('GET', '/git-host/status', undefined, member.token)).status, 403);
});
