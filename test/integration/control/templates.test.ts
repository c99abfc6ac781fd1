// A project that starts from a template, over the API: its files are a commit of its own repository, which is deployed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { projectRepository } from '#control/git-push/project-repository.ts';
import { repositoryFolder } from '#git/builtin-repositories.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
before(async () => {
  control = await startControl();
});
after(() => control.close());

async function makeProject(name: string): Promise<string> {
  const { body } = await control.call('POST', '/projects', { name, organizationId: control.organizationId });
  return body.id;
}

test('the templates are listed to everybody with an account', async () => {
  const stranger = await control.account('eve', {});
  const { body } = await control.call('GET', '/templates', undefined, stranger.token);
  assert.deepEqual(
    body.items.map(({ name }: { name: string }) => name),
    ['worker', 'hono', 'static'],
  );
  assert.equal((await control.call('GET', '/templates', undefined, null)).status, 401);
});

test('a template is committed to the repository of the project and deployed to production', async () => {
  const id = await makeProject('greeter');
  const { status, body } = await control.call('POST', `/projects/${id}/template`, { template: 'hono' });
  assert.equal(status, 202);
  const { body: deployment } = await control.call('GET', `/deployments/${body.deploymentId}`);
  assert.deepEqual(
    [deployment.status, deployment.target, deployment.branch, deployment.commitMessage, deployment.source],
    ['queued', 'production', 'main', 'Start from the template hono', 'push'],
  );
  const { body: project } = await control.call('GET', `/projects/${id}`);
  const folder = repositoryFolder(control.deps.folder, project.repositoryId);
  const git = (...words: string[]): string =>
    execFileSync('git', ['--git-dir', folder, ...words], { encoding: 'utf8' });
  assert.equal(git('rev-parse', 'main').trim(), deployment.commitSha);
  assert.deepEqual(git('ls-tree', '-r', '--name-only', 'main').trim().split('\n'), [
    '.gitignore',
    '.npmrc',
    'package.json',
    'platform.yaml',
    'src/index.ts',
    'tsconfig.json',
  ]);
  const manifest = JSON.parse(git('show', 'main:package.json'));
  assert.equal(manifest.name, 'greeter');
  assert.deepEqual(
    [Object.keys(manifest.dependencies), Object.keys(manifest.devDependencies)],
    [['hono'], ['typescript']],
  );

  const again = await control.call('POST', `/projects/${id}/template`, { template: 'worker' });
  assert.deepEqual([again.status, again.body.message], [409, 'greeter already has code on the branch main']);
});

test('a template that does not exist is refused', async () => {
  const id = await makeProject('nothing');
  assert.equal((await control.call('POST', `/projects/${id}/template`, { template: '../../core' })).status, 400);
  assert.equal((await control.call('GET', `/projects/${id}`)).body.repositoryId, null);
});

test('a full organization gets no template, even where a repository exists', async () => {
  const id = await makeProject('full');
  // As a Git client that only reads.
  await control.sql.begin((tx) => projectRepository(tx, id));
  await control.sql`UPDATE control.organization SET storage_full = true`;
  const { status, body } = await control.call('POST', `/projects/${id}/template`, { template: 'worker' });
  await control.sql`UPDATE control.organization SET storage_full = false`;
  assert.deepEqual([status, body.code], [409, 'storage_full']);
});
