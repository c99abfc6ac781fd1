// What deletions in the platform's repositories free, with a real Git client.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { shrinkRepositories } from '#control/repositories/shrink.ts';
import { repositoryFolder } from '#git/builtin-repositories.ts';
import { type TestControl } from '#test/setup/control.ts';
import { startGitPush, type TestGitPush } from '#test/setup/git-push.ts';

const run = promisify(execFile);
let pushes: TestGitPush;
let control: TestControl;

before(async () => {
  pushes = await startGitPush();
  ({ control } = pushes);
  writeFileSync(path.join(pushes.folder, 'large.bin'), randomBytes(3_000_000));
  await pushes.git('add', '.');
  await pushes.git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '--quiet', '-m', 'Grow');
});
after(() => pushes.close());

const git = (...args: string[]): Promise<string> => pushes.git(...args);

test('what deleted branches and deleted projects kept is given back, and nothing that a branch leads to', async () => {
  const to = pushes.remote('shrunk', control.owner.token);
  const push = async (ref: string): Promise<void> => {
    const built = pushes.buildNext('success');
    await git('push', to, ref);
    await built;
  };
  await push('HEAD~1:refs/heads/main');
  await push('HEAD:refs/heads/large');
  const [{ id: projectId, repository } = { id: '', repository: '' }] = await control.sql<
    { id: string; repository: string }[]
  >`SELECT id, repository_id AS repository FROM control.project WHERE name = 'shrunk'`;
  const bare = repositoryFolder(control.deps.folder, repository);
  const bytes = (): number =>
    readdirSync(path.join(bare, 'objects'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0);
  const age = async (): Promise<void> => {
    await run('find', [bare, '-exec', 'touch', '-d', '2 hours ago', '{}', '+']);
  };
  const later = (): number => Date.now() + 2 * 3_600_000;
  await age();
  assert.equal(await shrinkRepositories(control.deps, later()), 0);
  assert.ok(bytes() > 3_000_000, String(bytes()));
  await git('push', to, '--delete', 'large');
  await age();
  // It may be that a push which is under way builds on it.
  assert.equal(await shrinkRepositories(control.deps), 0);
  assert.equal(await shrinkRepositories(control.deps, later()), 1);
  assert.ok(bytes() < 1_000_000, String(bytes()));
  const { stdout } = await run('git', ['--git-dir', bare, 'show', 'main:index.html']);
  assert.equal(stdout, '<h1>hello</h1>');
  assert.equal(await shrinkRepositories(control.deps, later()), 0);
  // It can be connected again.
  await control.sql`UPDATE control.project SET repository_id = NULL WHERE id = ${projectId}`;
  assert.equal(await shrinkRepositories(control.deps), 0);
  await push('HEAD~1:refs/heads/main');
  assert.equal((await control.call('DELETE', `/projects/${projectId}?name=shrunk`)).status, 204);
  assert.equal(await shrinkRepositories(control.deps), 2);
  assert.equal(existsSync(bare), false);
});
