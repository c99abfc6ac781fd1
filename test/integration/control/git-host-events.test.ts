// What the Git host tells, and what the platform makes of it: deployments, removed branches, records that follow.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startConnectedHost, type ConnectedHost, type DeploymentRow } from '#test/setup/connected-host.ts';
import type { HostedRepository } from '#test/setup/git-host-state.ts';

let connected: ConnectedHost;
before(async () => {
  connected = await startConnectedHost();
});
after(() => connected.close());

const brief = ({ branch, target, status, reason }: DeploymentRow): string =>
  [branch, target, status, ...(reason === null ? [] : [reason])].join(' ');
const briefs = async (projectId: string): Promise<string[]> => (await connected.deployments(projectId)).map(brief);

test('a push deploys its branch: the default branch to production, others as previews', async () => {
  const { projectId, repository } = await connected.connect('pushes');
  const first = await connected.push(repository, 'main', { a: '1' }, 'First\n\nWith a body');
  const second = await connected.push(repository, 'feature/login', { a: '2' });
  const rows = await connected.deployments(projectId);
  assert.deepEqual(rows.map(brief), ['main production queued', 'feature/login preview queued']);
  assert.deepEqual(
    rows.map(({ commit_sha, author, source }) => [commit_sha, author, source]),
    [
      [first, 'ada', 'push'],
      [second, 'ada', 'push'],
    ],
  );
  assert.equal(rows[0]!.commit_message, 'First\n\nWith a body');
  const jobs = await connected.control.sql<{ input: object }[]>`
    SELECT input FROM control.job WHERE project_id = ${projectId} ORDER BY id`;
  assert.equal((jobs[1]!.input as { commit: string }).commit, second);
});

test('tags are no branches', async () => {
  const { projectId, repository } = await connected.connect('tags');
  const sha = connected.host.commit(repository, { files: { a: '1' } });
  const body = { ...connected.pushBody(repository, 'main', null, sha), ref: 'refs/tags/v1' };
  assert.equal(await connected.deliver('push', body), 'ignored');
  assert.deepEqual(await briefs(projectId), []);
});

test('a push of a repository that nobody connected, or of another installation, deploys nothing', async () => {
  const { projectId, repository } = await connected.connect('mine');
  const { host, installation } = connected;
  const strangers = host.repository('acme/strangers', installation);
  const sha = host.commit(strangers, { files: { a: '1' } });
  assert.equal(await connected.deliver('push', connected.pushBody(strangers, 'main', null, sha)), 'no project');
  const mine = host.commit(repository, { files: { a: '1' } });
  const moved = { ...connected.pushBody(repository, 'main', null, mine), installation: { id: 999 } };
  assert.equal(await connected.deliver('push', moved), 'no project');
  assert.deepEqual(await briefs(projectId), []);
});

test('of two pushes at once the newer is built, in whichever order they come', async () => {
  const { host } = connected;
  for (const order of ['as pushed', 'overtaken'] as const) {
    const { projectId, repository } = await connected.connect(order === 'as pushed' ? 'in-order' : 'out-of-order');
    const first = host.commit(repository, { files: { a: '1' } });
    const second = host.commit(repository, { files: { a: '2' } });
    const bodies = [
      connected.pushBody(repository, 'main', null, first),
      connected.pushBody(repository, 'main', first, second),
    ];
    const outcomes = [];
    for (const body of order === 'as pushed' ? bodies : bodies.reverse())
      outcomes.push(await connected.deliver('push', body));
    assert.deepEqual(outcomes, order === 'as pushed' ? ['deployed', 'deployed'] : ['deployed', 'overtaken']);
    const open = (await connected.deployments(projectId)).filter(({ status }) => status === 'queued');
    assert.deepEqual(
      open.map(({ commit_sha }) => commit_sha),
      [second],
      order,
    );
  }
});

test('a force push supersedes, back to an older commit as well', async () => {
  const { projectId, repository } = await connected.connect('forced');
  const { host } = connected;
  const first = await connected.push(repository, 'main', { a: '1' });
  const second = await connected.push(repository, 'main', { a: '2' });
  const other = host.commit(repository, { files: { a: '3' }, after: first });
  assert.equal(await connected.deliver('push', connected.pushBody(repository, 'main', second, other)), 'deployed');
  assert.equal(await connected.deliver('push', connected.pushBody(repository, 'main', other, first)), 'deployed');
  const rows = await connected.deployments(projectId);
  assert.deepEqual(
    rows.map(({ commit_sha, status, reason }) => [commit_sha, status, reason]),
    [
      [first, 'canceled', 'superseded'],
      [second, 'canceled', 'superseded'],
      [other, 'canceled', 'superseded'],
      [first, 'queued', null],
    ],
  );
});

test('[skip ci] in the newest commit skips, with a row that says so', async () => {
  const { projectId, repository } = await connected.connect('skips');
  await connected.push(repository, 'main', { a: '1' });
  for (const mark of ['[skip ci]', '[CI skip]', '[no deploy]'])
    await connected.push(repository, 'main', { a: mark }, `Fix a typo ${mark}`);
  const rows = await connected.deployments(projectId);
  // What waited before goes on.
  assert.deepEqual(rows.map(brief), [
    'main production queued',
    ...Array.from({ length: 3 }, () => 'main production canceled skipped'),
  ]);
  assert.equal(rows[1]!.error_message, 'The commit says [skip ci]');
});

test('projects of a monorepo are deployed when something of theirs changed', async () => {
  const web = await connected.connect('mono-web', { configPath: 'apps/web' });
  const { repository } = web;
  const docs = await connected.connect('mono-docs', { configPath: 'apps/docs', repository });
  const root = await connected.connect('mono-root', { repository });
  await connected.push(repository, 'main', { 'apps/web/a': '1', 'apps/docs/a': '1' });
  const last = async (): Promise<string[]> => {
    const all = await Promise.all([web, docs, root].map(({ projectId }) => connected.deployments(projectId)));
    return all.map((rows) => rows.at(-1)!.reason ?? rows.at(-1)!.status);
  };
  assert.deepEqual(await last(), ['queued', 'queued', 'queued']);
  await connected.push(repository, 'main', { 'apps/web/a': '2' });
  assert.deepEqual(await last(), ['queued', 'skipped', 'queued']);
  await connected.push(repository, 'main', { 'packages/ui/a': '2' });
  assert.deepEqual(await last(), ['queued', 'queued', 'queued']);
  await connected.push(repository, 'main', { 'apps/docs/a': '3' });
  assert.deepEqual(await last(), ['skipped', 'queued', 'queued']);
  await connected.push(repository, 'main', { 'package-lock.json': '3' });
  assert.deepEqual(await last(), ['queued', 'queued', 'queued']);
  await connected.push(repository, 'main', { 'README.md': '4' });
  assert.deepEqual(await last(), ['skipped', 'skipped', 'queued']);
});

test('a branch that is gone is removed, production never', async () => {
  const { projectId, repository } = await connected.connect('gone');
  const { control } = connected;
  const main = await connected.push(repository, 'main', { a: '1' });
  const sha = await connected.push(repository, 'old', { a: '2' });
  const waiting = await connected.push(repository, 'waiting', { a: '3' });
  // As a release leaves it.
  await control.sql`UPDATE control.deployment SET status = 'success' WHERE project_id = ${projectId} AND branch = 'old'`;
  const id = (await connected.deployments(projectId)).find(({ branch }) => branch === 'old')!.id;
  await control.sql`INSERT INTO control.branch (project_id, name, deployment_id) VALUES (${projectId}, 'old', ${id})`;
  const gone = (branch: string, before: string): Promise<string> =>
    connected.deliver('push', connected.pushBody(repository, branch, before, null));
  assert.equal(await gone('old', sha), 'removed');
  assert.equal(await gone('waiting', waiting), 'nothing to remove');
  assert.equal(await gone('main', main), 'kept: production');
  const [row] = await control.sql<{ removed: boolean }[]>`
    SELECT removed_at IS NOT NULL AS removed FROM control.branch WHERE project_id = ${projectId} AND name = 'old'`;
  assert.equal(row!.removed, true);
  assert.deepEqual(await briefs(projectId), [
    'main production queued',
    'old preview success',
    'waiting preview canceled branch_removed',
  ]);
});

test('the second word of a removed branch does not remove the branch that came after it', async () => {
  const { projectId, repository } = await connected.connect('again');
  const sha = await connected.push(repository, 'again', { a: '1' });
  const deleted = connected.pushBody(repository, 'again', sha, null);
  assert.equal(await connected.deliver('push', deleted), 'nothing to remove');
  assert.equal(await connected.deliver('push', connected.pushBody(repository, 'again', null, sha)), 'deployed');
  const body = { ...deleted, ref: 'again', ref_type: 'branch', pusher_type: 'user' };
  assert.equal(await connected.deliver('delete', body), 'told by its push');
  assert.equal((await connected.deployments(projectId)).at(-1)!.status, 'queued');
  assert.equal(await connected.deliver('delete', { ...body, ref: 'alone' }), 'nothing to remove');
  assert.equal(await connected.deliver('delete', { ...body, ref: 'v1', ref_type: 'tag' }), 'ignored');
});

const stateOf = async (repositoryId: string): Promise<[string, string | null]> => {
  const { body } = await connected.control.call(
    'GET',
    `/repositories?organizationId=${connected.control.organizationId}`,
  );
  const found = body.repositories.find(({ id }: { id: string }) => id === repositoryId);
  return [found.fullName, found.disconnectReason];
};

test('a renamed repository keeps its projects', async () => {
  const { projectId, repositoryId, repository } = await connected.connect('before');
  repository.fullName = 'acme/after';
  const changes = { changes: { repository: { name: { from: 'before' } } } };
  const event = connected.repositoryEvent(repository, 'renamed', changes);
  assert.equal(await connected.deliver('repository', event), 'updated');
  assert.deepEqual(await stateOf(repositoryId), ['acme/after', null]);
  await connected.push(repository, 'main', { a: '1' });
  assert.deepEqual(await briefs(projectId), ['main production queued']);
});

test('an archived or deleted repository is disconnected, and its deployments stay', async () => {
  const { projectId, repositoryId, repository } = await connected.connect('archived');
  await connected.push(repository, 'main', { a: '1' });
  const tell = (action: string): Promise<string> =>
    connected.deliver('repository', connected.repositoryEvent(repository, action));
  assert.equal(await tell('archived'), 'disconnected');
  assert.deepEqual(await stateOf(repositoryId), ['acme/archived', 'the repository was archived on the Git host']);
  const sha = connected.host.commit(repository, { files: { a: '2' } });
  assert.equal(await connected.deliver('push', connected.pushBody(repository, 'x', null, sha)), 'no project');
  assert.equal(await tell('unarchived'), 'updated');
  assert.deepEqual(await stateOf(repositoryId), ['acme/archived', null]);
  assert.equal(await tell('deleted'), 'disconnected');
  assert.deepEqual(await stateOf(repositoryId), ['acme/archived', 'the repository was deleted on the Git host']);
  assert.deepEqual(await briefs(projectId), ['main production queued']);
});

test('a repository that goes to another owner is not built for the earlier one', async () => {
  const { repositoryId, repository } = await connected.connect('moved');
  repository.fullName = 'others/moved';
  const event = connected.repositoryEvent(repository, 'transferred', { installation: { id: 4242 } });
  assert.equal(await connected.deliver('repository', event), 'updated');
  assert.deepEqual(await stateOf(repositoryId), [
    'others/moved',
    'the repository went to another owner on the Git host: connect it again',
  ]);
});

test('an installation that is suspended, removed or narrowed takes its repositories along', async () => {
  const { host, control } = connected;
  const installation = host.installation('team', ['ada']);
  const made: HostedRepository[] = [
    host.repository('team/one', installation),
    host.repository('team/two', installation),
  ];
  const ids: string[] = [];
  for (const { id } of made) {
    const { body } = await control.call('POST', '/repositories', {
      organizationId: control.organizationId,
      source: 'git-host',
      installationId: String(installation.id),
      hostId: String(id),
    });
    ids.push(body.repository.id);
  }
  const states = async (): Promise<boolean[]> => Promise.all(ids.map(async (id) => (await stateOf(id))[1] === null));
  const tell = (action: string): Promise<string> =>
    connected.deliver('installation', {
      action,
      installation: { id: installation.id, account: { login: 'team' }, permissions: installation.permissions },
      at: Math.random(),
    });
  const narrow = (added: number[], removed: number[]): Promise<string> =>
    connected.deliver('installation_repositories', {
      action: added.length > 0 ? 'added' : 'removed',
      installation: { id: installation.id },
      repositories_added: added.map((id) => ({ id })),
      repositories_removed: removed.map((id) => ({ id })),
      at: Math.random(),
    });
  await narrow([], [made[0]!.id]);
  assert.deepEqual(await states(), [false, true]);
  await tell('suspend');
  assert.deepEqual(await states(), [false, false]);
  await tell('unsuspend');
  assert.deepEqual(await states(), [false, true]);
  await narrow([made[0]!.id], []);
  assert.deepEqual(await states(), [true, true]);
  await tell('deleted');
  assert.deepEqual(await states(), [false, false]);
});

test("a pull request's number goes to its branch's deployments, those before and those after", async () => {
  const { projectId, repository } = await connected.connect('numbers');
  const sha = await connected.push(repository, 'topic', { a: '1' });
  const about = { number: 7, branch: 'topic', sha };
  assert.equal(
    await connected.deliver('pull_request', connected.pullRequestBody(repository, { action: 'opened', ...about })),
    'noted',
  );
  await connected.push(repository, 'topic', { a: '2' });
  const rows = await connected.deployments(projectId);
  assert.deepEqual(
    rows.map(({ pull_request, is_fork }) => [pull_request, is_fork]),
    [
      [7, false],
      [7, false],
    ],
  );
  const closed = connected.pullRequestBody(repository, { action: 'closed', ...about, isMerged: true });
  assert.equal(await connected.deliver('pull_request', closed), 'closed');
  await connected.push(repository, 'topic', { a: '3' });
  assert.equal((await connected.deployments(projectId)).at(-1)!.pull_request, null);
});

test("a fork's pull request is built after a member approves each of its commits", async () => {
  const { projectId, repository } = await connected.connect('forks');
  const { control, host } = connected;
  const sha = host.commit(repository, { branch: 'refs-of-a-fork', files: { a: '1' } });
  const body = (action: string, commit: string): object =>
    connected.pullRequestBody(repository, {
      action,
      number: 12,
      branch: 'main',
      sha: commit,
      author: 'mallory',
      head: { id: 77, full_name: 'mallory/forks' },
    });
  assert.equal(await connected.deliver('pull_request', body('opened', sha)), 'waits for approval');
  const [waiting] = await connected.deployments(projectId);
  assert.deepEqual(
    [waiting!.branch, waiting!.target, waiting!.is_fork, waiting!.status, waiting!.reason],
    ['pull:12', 'preview', true, 'queued', 'approval_required'],
  );
  const jobs = (): Promise<readonly object[]> =>
    control.sql`SELECT id FROM control.job WHERE project_id = ${projectId}`;
  assert.equal((await jobs()).length, 0);

  const path = `/deployments/${waiting!.id}/approve`;
  const viewer = await control.account('vera', { [control.organizationId]: 'viewer' });
  const robot = await control.account('robot', { [control.organizationId]: 'member' }, 'deploy');
  const stranger = await control.account('eve', { [await control.organization('others')]: 'owner' });
  const statuses = [];
  for (const token of [null, viewer.token, robot.token, stranger.token])
    statuses.push((await control.call('POST', path, undefined, token)).status);
  assert.deepEqual(statuses, [401, 403, 403, 404]);
  assert.equal((await jobs()).length, 0);
  const member = await control.account('mel', { [control.organizationId]: 'member' });
  assert.equal((await control.call('POST', path, undefined, member.token)).status, 202);
  assert.equal((await jobs()).length, 1);
  assert.equal((await control.call('POST', path, undefined, member.token)).status, 409);

  const next = host.commit(repository, { branch: 'refs-of-a-fork', files: { a: '2' } });
  assert.equal(await connected.deliver('pull_request', body('synchronize', next)), 'waits for approval');
  const rows = await connected.deployments(projectId);
  assert.deepEqual(
    rows.map(({ commit_sha, reason }) => [commit_sha, reason]),
    [
      [sha, 'superseded'],
      [next, 'approval_required'],
    ],
  );
  assert.equal(await connected.deliver('pull_request', body('closed', next)), 'nothing to remove');
  assert.equal((await connected.deployments(projectId)).at(-1)!.reason, 'branch_removed');
  assert.equal((await control.call('POST', `/deployments/${rows[1]!.id}/approve`)).status, 409);
});
