// What comes of pushes: one build a branch, the same commit once, forks that wait.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createDeployment } from '#control/releases/create-deployment.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
let projectId: string;
before(async () => {
  control = await startControl();
  const { body } = await control.call('POST', '/projects', { name: 'shop', organizationId: control.organizationId });
  projectId = body.id as string;
  await control.sql`
    INSERT INTO control.repository (id, organization_id, source, full_name, url)
    VALUES ('rep_1', ${control.organizationId}, 'remote', 'shop', 'https://git.example/shop')`;
  await control.sql`UPDATE control.project SET repository_id = 'rep_1' WHERE id = ${projectId}`;
});
after(() => control.close());

const push = (commit: string, branch = 'main', more: object = {}) =>
  createDeployment(control.deps, { projectId, branch, commit, source: 'push', createdBy: null, ...more });
const state = async (id: string) => {
  const [row] = await control.sql`
    SELECT d.status, d.reason, d.branch, d.target, j.kind, j.cancel_reason FROM control.deployment d
    LEFT JOIN control.job j ON j.deployment_id = d.id WHERE d.id = ${id}`;
  return Object.values(row!);
};

test('a newer push supersedes what waits, and has what is built end', async () => {
  const waiting = await push('aaaa1');
  const other = await push('aaaa1', 'other');
  const building = await push('aaaa2');
  assert.deepEqual(await state(waiting.id), ['canceled', 'superseded', 'main', 'production', null, null]);
  await control.sql`UPDATE control.deployment SET status = 'building' WHERE id = ${building.id}`;
  const newest = await push('aaaa3');
  assert.deepEqual(await state(building.id), ['building', null, 'main', 'production', 'build', 'superseded']);
  assert.deepEqual(await state(newest.id), ['queued', null, 'main', 'production', 'build', null]);
  assert.deepEqual(await state(other.id), ['queued', null, 'other', 'preview', 'build', null]);
});

test('a commit that is told twice is deployed once, also when both come at once', async () => {
  const made = await Promise.all(Array.from({ length: 5 }, () => push('bbbb1', 'twice')));
  assert.equal(new Set(made.map(({ id }) => id)).size, 1);
  assert.equal(made.filter(({ isNew }) => isNew).length, 1);
  const again = await push('bbbb1', 'twice', { pullRequest: 7 });
  const [row] = await control.sql`SELECT pull_request FROM control.deployment WHERE id = ${again.id}`;
  assert.equal(row!['pull_request'], 7);
});

test("a fork's deployment waits without a build, under a branch of its own, and is never production", async () => {
  const made = await push('cccc1', 'main', { isFork: true, pullRequest: 12, source: 'pull_request' });
  assert.deepEqual(await state(made.id), ['queued', 'approval_required', 'pull:12', 'preview', null, null]);
});

test('a commit is built again from nothing, and not while it is on its way', async () => {
  const { id } = await push('dddd1', 'cached');
  const retry = (query = '?clearCache=true') => control.call('POST', `/deployments/${id}/retry${query}`);
  assert.equal((await retry()).status, 409);
  await control.sql`DELETE FROM control.job WHERE deployment_id = ${id}`;
  await control.sql`UPDATE control.deployment SET status = 'success' WHERE id = ${id}`;
  const { status, body } = await retry();
  assert.equal(status, 202);
  const [job] = await control.sql`SELECT input FROM control.job WHERE deployment_id = ${body.newDeploymentId}`;
  assert.deepEqual(job!['input'], { clearCache: true, repositoryId: 'rep_1', commit: 'dddd1' });
  const [row] = await control.sql`
    SELECT actor_kind, details FROM control.audit_event WHERE subject_id = ${body.newDeploymentId}`;
  assert.deepEqual([row!['actor_kind'], row!['details'].clearCache], ['token', true]);
  // One that asks for less is on its way as well.
  const again = await retry('?clearCache=true');
  assert.deepEqual([again.status, again.body.code], [409, 'conflict']);
  assert.equal((await retry('')).body.newDeploymentId, body.newDeploymentId);
});
