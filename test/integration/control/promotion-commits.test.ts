// Which commits a promotion or a rollback says that production gets or loses: those of the project's own repository on
// the platform, else those of its deployments.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { ensureRepository } from '#control/repositories/repositories.ts';
import { newDeploymentId, newId } from '#control/records/ids.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
let projectId: string;
let folder: string;
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

before(async () => {
  control = await startControl();
  const { organizationId } = control;
  projectId = (await control.call('POST', '/projects', { name: 'shop', organizationId })).body.id;
  const repository = newId('repository');
  folder = await ensureRepository(control.deps.folder, repository, 'main');
  git('hash-object', '-t', 'tree', '-w', '/dev/null');
  await control.sql`
    INSERT INTO control.repository (id, organization_id, source, full_name, url)
    VALUES (${repository}, ${organizationId}, 'builtin', 'shop', '/git/shop.git')`;
  await control.sql`UPDATE control.project SET repository_id = ${repository} WHERE id = ${projectId}`;
});
after(() => control.close());

let seconds = Date.parse('2026-11-01T00:00:00Z') / 1000;
function git(...words: string[]): string {
  const date = `${++seconds} +0000`;
  const env = {
    ...process.env,
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.com',
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.com',
    GIT_COMMITTER_DATE: date,
  };
  return execFileSync('git', ['--git-dir', folder, ...words], { env, encoding: 'utf8' }).trim();
}
const commit = (message: string, parent?: string): string =>
  git('commit-tree', EMPTY_TREE, '-m', message, ...(parent === undefined ? [] : ['-p', parent]));
async function deployment(sha: string): Promise<string> {
  const id = newDeploymentId();
  await control.sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, commit_sha, commit_message)
    VALUES (${id}, ${projectId}, ${control.organizationId}, 'success', 'production', 'main', 'push', ${sha}, 'as deployed')`;
  return id;
}
const setLive = async (id: string, ...history: string[]): Promise<void> =>
  void (await control.sql`
    UPDATE control.project SET production_deployment_id = ${id}, production_history = ${history} WHERE id = ${projectId}`);
async function commitsOf(id: string): Promise<unknown> {
  const { body } = await control.call('GET', `/deployments/${id}/promotion`);
  const said = body.commits.map((one: Record<string, unknown>) => [one['sha'], one['message'], one['deploymentId']]);
  return [body.way, body.direction, said];
}

test('all commits between the live deployment and another one are listed, those that were not deployed too', async () => {
  const first = commit('Begin');
  const second = commit('Add a basket\n\nWith a body', first);
  const third = commit('Mend the basket', second);
  const fourth = commit('Add a till', third);
  const old = await deployment(first);
  const between = await deployment(third);
  const live = await deployment(fourth);
  await setLive(live, old);
  assert.deepEqual(await commitsOf(old), [
    'rollback',
    'remove',
    [
      [fourth, 'Add a till', live],
      [third, 'Mend the basket', between],
      [second, 'Add a basket', null],
    ],
  ]);
  await setLive(old);
  assert.deepEqual(await commitsOf(between), [
    'promote',
    'add',
    [
      [third, 'Mend the basket', between],
      [second, 'Add a basket', null],
    ],
  ]);
  await setLive(live);
  const again = await deployment(third);
  assert.deepEqual(await commitsOf(again), ['promote', 'remove', [[fourth, 'Add a till', live]]]);
  const same = await deployment(fourth);
  assert.deepEqual(await commitsOf(same), ['promote', 'add', []]);
});

test('where the repository does not know a commit, those of deployments are listed', async () => {
  const known = await deployment(commit('Known'));
  const uploaded = await deployment('a'.repeat(40));
  await setLive(uploaded, known);
  assert.deepEqual(await commitsOf(known), ['rollback', 'remove', [['a'.repeat(40), 'as deployed', uploaded]]]);
  await control.sql`UPDATE control.repository SET source = 'remote'`;
  const next = await deployment(commit('Not read'));
  await setLive(known);
  const [way, direction, commits] = (await commitsOf(next)) as [string, string, [string, string, string][]];
  assert.deepEqual([way, direction, commits[0]![1], commits[0]![2]], ['promote', 'add', 'as deployed', next]);
});
