// What the Git host shows of deployments: commit statuses, and one comment a pull request.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { endGuarded, startGuarded } from '#control/releases/guarded/changes.ts';
import { pointProduction } from '#control/releases/pointers.ts';
import { workOnReports } from '#control/git-host/reports.ts';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import type { HostedRepository } from '#test/setup/git-host-state.ts';

let connected: ConnectedHost;
before(async () => {
  connected = await startConnectedHost();
});
after(() => connected.close());

const newest = async (projectId: string): Promise<string> => (await connected.deployments(projectId)).at(-1)!.id;

/** As a build and a release leave it. */
async function end(projectId: string, status: string, reason: string | null = null): Promise<void> {
  const { sql } = connected.control;
  const id = await newest(projectId);
  await sql`UPDATE control.deployment SET status = ${status}, reason = ${reason}, updated_at = '2026-11-23T08:15:00Z'
             WHERE id = ${id}`;
  if (status === 'success')
    await sql`INSERT INTO control.branch (project_id, name, deployment_id)
      SELECT project_id, branch, id FROM control.deployment WHERE id = ${id}
      ON CONFLICT (project_id, name) DO UPDATE SET deployment_id = excluded.deployment_id`;
  await connected.work();
}

const statuses = ({ statuses: all }: HostedRepository): unknown[] =>
  all.map(({ state, description, context }) => [state, description, context]);

test('a commit has the status of its deployment, each state once', async () => {
  const { projectId, repository } = await connected.connect('status');
  const sha = await connected.push(repository, 'main', { a: '1' });
  for (const status of ['building', 'uploading', 'migrating']) await end(projectId, status);
  await end(projectId, 'success');
  assert.deepEqual(statuses(repository), [
    ['pending', 'Waiting for a builder', 'platform/status'],
    ['pending', 'In progress', 'platform/status'],
    ['success', 'Deployed', 'platform/status'],
  ]);
  const [first] = repository.statuses;
  assert.equal(first!.sha, sha);
  assert.equal(first!['target_url'], `http://localhost:3002/deployments/${await newest(projectId)}`);
});

test('a guarded release is pending until it ends, and a rollback is a failure until the deployment is promoted', async () => {
  const { sql } = connected.control;
  const { projectId, repository } = await connected.connect('guarded');
  await connected.push(repository, 'main', { a: '1' });
  const release = {
    deploymentId: await newest(projectId),
    previousId: 'd000000000000',
    settings: { steps: [5, 100], minutes: 5, errors: '1%', p99: '1.5x', cpu: '2x' },
  };
  await sql.begin((tx) => startGuarded(tx, projectId, release));
  await end(projectId, 'success');
  await sql.begin((tx) => endGuarded(tx, projectId, 'rolled_back', 'Errors: 3.3 % of 300 requests failed'));
  await connected.work();
  const before = { production_deployment_id: null, production_history: [] };
  await sql.begin((tx) => pointProduction(tx, projectId, before, release.deploymentId));
  await connected.work();
  assert.deepEqual(statuses(repository), [
    ['pending', 'Waiting for a builder', 'platform/guarded'],
    ['pending', 'Guarded release: 5 % of the visitors', 'platform/guarded'],
    ['failure', 'Rolled back. Errors: 3.3 % of 300 requests failed', 'platform/guarded'],
    ['success', 'Deployed', 'platform/guarded'],
  ]);
});

test('failed, superseded and skipped commits say so', async () => {
  const { projectId, repository } = await connected.connect('ends');
  await connected.push(repository, 'main', { a: '1' });
  await connected.push(repository, 'main', { a: '2' });
  await end(projectId, 'failure', 'migration_failed');
  await connected.push(repository, 'main', { a: '3' }, 'Later [skip ci]');
  assert.deepEqual(
    repository.statuses.map(({ state, description }) => [state, description]),
    [
      ['pending', 'Waiting for a builder'],
      ['error', 'Superseded by a newer commit'],
      ['pending', 'Waiting for a builder'],
      ['failure', 'Failed: migration failed'],
      ['success', 'Skipped: The commit says [skip ci]'],
    ],
  );
});

test('a pull request has one comment, which is kept up to date', async () => {
  const { projectId, repository, repositoryId } = await connected.connect('comments');
  const sha = await connected.push(repository, 'topic', { a: '1' });
  assert.equal(repository.comments.length, 0);
  const about = { action: 'opened', number: 3, branch: 'topic', sha };
  await connected.deliver('pull_request', connected.pullRequestBody(repository, about));
  assert.equal(repository.comments.length, 1);
  assert.match(repository.comments[0]!.body, /Waiting for a builder/);
  await end(projectId, 'success');
  assert.equal(repository.comments.length, 1);
  const id = await newest(projectId);
  assert.equal(
    repository.comments[0]!.body,
    [
      `<!-- platform ${repositoryId} -->`,
      '| Project | Status | Preview | Commit | Ended |',
      '| --- | --- | --- | --- | --- |',
      `| comments | ✅ Deployed ([log](http://localhost:3002/deployments/${id})) | [Visit](http://comments--topic.localhost:4001) | ${sha.slice(0, 7)} | 2026-11-23 08:15 UTC |`,
    ].join('\n'),
  );
  const next = await connected.push(repository, 'topic', { a: '2' });
  assert.equal(repository.comments.length, 1);
  assert.match(repository.comments[0]!.body, new RegExp(`Waiting for a builder.*Visit.*${next.slice(0, 7)}`));
});

test('a comment that a process wrote and did not live to note is found again; one that was deleted is written anew', async () => {
  const { projectId, repository, repositoryId } = await connected.connect('found');
  const { sql } = connected.control;
  const sha = await connected.push(repository, 'topic', { a: '1' });
  const mark = `<!-- platform ${repositoryId} -->`;
  repository.comments.push({ id: 1, number: 5, body: `${mark} of somebody else` });
  const about = { action: 'opened', number: 5, branch: 'topic', sha };
  await connected.deliver('pull_request', connected.pullRequestBody(repository, about));
  assert.equal(repository.comments.length, 2);
  await sql`UPDATE control.pull_request_comment SET comment_id = NULL WHERE repository_id = ${repositoryId}`;
  await end(projectId, 'success');
  assert.equal(repository.comments.length, 2);
  assert.match(repository.comments[1]!.body, /Deployed/);
  repository.comments.pop();
  await connected.push(repository, 'topic', { a: '2' });
  assert.equal(repository.comments.length, 2);
  assert.equal(repository.comments[0]!.body, `${mark} of somebody else`);
});

test('all projects of the repository share the comment', async () => {
  const { repository } = await connected.connect('share-one');
  await connected.connect('share-two', { repository });
  const sha = await connected.push(repository, 'topic', { a: '1' });
  await connected.deliver(
    'pull_request',
    connected.pullRequestBody(repository, { action: 'opened', number: 9, branch: 'topic', sha }),
  );
  assert.equal(repository.comments.length, 1);
  assert.match(repository.comments[0]!.body, /\| share-one \|[^\n]*\n\| share-two \|/);
});

test("a fork's commit says that it waits for a member", async () => {
  const { repository } = await connected.connect('fork-status');
  const sha = connected.host.commit(repository, { branch: 'of-a-fork', files: { a: '1' } });
  const head = { id: 5, full_name: 'mallory/x' };
  await connected.deliver(
    'pull_request',
    connected.pullRequestBody(repository, { action: 'opened', number: 2, branch: 'main', sha, head }),
  );
  assert.deepEqual(statuses(repository), [['pending', 'Waiting for approval by a member', 'platform/fork-status']]);
  assert.match(repository.comments[0]!.body, /Waiting for approval by a member/);
});

test('what the installation does not grant is left out, without asking the host', async () => {
  const { host, control } = connected;
  const installation = host.installation('narrow', ['ada'], { contents: 'read', metadata: 'read' });
  const repository = host.repository('narrow/site', installation);
  const made = await control.call('POST', '/repositories', {
    organizationId: control.organizationId,
    source: 'git-host',
    installationId: String(installation.id),
    hostId: String(repository.id),
  });
  const project = await control.call('POST', '/projects', { name: 'narrow', organizationId: control.organizationId });
  await control.call('POST', `/projects/${project.body.id}/repository`, { repositoryId: made.body.repository.id });
  const asked = host.state.requests.length;
  await connected.push(repository, 'main', { a: '1' });
  assert.deepEqual(host.state.requests.slice(asked), []);
  const [row] = await control.sql<{ error: string; due_at: Date | null }[]>`
    SELECT error, due_at FROM control.git_report WHERE deployment_id = ${await newest(project.body.id)}`;
  assert.deepEqual([row!.error, row!.due_at], ['not granted: statuses: write', null]);
});

test('a host that is away is told later, as things are by then', async () => {
  const { projectId, repository } = await connected.connect('away');
  const { host, control } = connected;
  host.state.failures.push(...Array.from({ length: 3 }, () => 503));
  await connected.push(repository, 'main', { a: '1' });
  assert.deepEqual(statuses(repository), []);
  const report = async (): Promise<{ due: boolean; attempt: number }> => {
    const [row] = await control.sql<{ due: boolean; attempt: number }[]>`
      SELECT due_at IS NOT NULL AS due, attempt FROM control.git_report
       WHERE deployment_id = ${await newest(projectId)}`;
    return row!;
  };
  assert.deepEqual(await report(), { due: true, attempt: 1 });
  host.state.failures.length = 0;
  await control.sql`UPDATE control.git_report SET due_at = now() WHERE due_at IS NOT NULL`;
  await workOnReports(control.deps);
  assert.deepEqual(statuses(repository), [['pending', 'Waiting for a builder', 'platform/away']]);
  assert.deepEqual((await report()).due, false);
});
