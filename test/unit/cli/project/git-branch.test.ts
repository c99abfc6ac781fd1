// The branch of a folder, from the files that Git itself writes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { gitPlace } from '#cli/project/git-branch.ts';

test('the branch and the default branch of clones, worktrees, empty repositories and detached heads are found', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'git-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const git = (cwd: string, ...words: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...words], { cwd, stdio: 'pipe' });
  assert.equal(gitPlace(folder), null);
  const origin = path.join(folder, 'origin');
  mkdirSync(path.join(origin, 'apps/web'), { recursive: true });
  git(origin, 'init', '-b', 'trunk');
  assert.deepEqual(gitPlace(path.join(origin, 'apps/web')), { branch: 'trunk', defaultBranch: null });
  git(origin, 'commit', '--allow-empty', '-m', 'x');
  git(folder, 'clone', 'origin', 'clone');
  const clone = path.join(folder, 'clone');
  git(clone, 'checkout', '-b', 'feature/login');
  assert.deepEqual(gitPlace(clone), { branch: 'feature/login', defaultBranch: 'trunk' });
  git(clone, 'worktree', 'add', '../tree', '-b', 'other');
  assert.deepEqual(gitPlace(path.join(folder, 'tree')), { branch: 'other', defaultBranch: 'trunk' });
  git(clone, 'checkout', '--detach');
  assert.deepEqual(gitPlace(clone), { branch: null, defaultBranch: 'trunk' });
  const old = path.join(folder, 'old');
  mkdirSync(old);
  git(old, 'init', '-b', 'master');
  git(old, 'commit', '--allow-empty', '-m', 'x');
  git(old, 'pack-refs', '--all');
  git(old, 'checkout', '-b', 'login');
  assert.deepEqual(gitPlace(old), { branch: 'login', defaultBranch: 'master' });
});
