import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { describeCommit } from '#cli/tasks/tools/machine.ts';

test('results of measurements do not change the name of a commit, other files do', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-commit-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const git = (...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], { cwd: folder, encoding: 'utf8' });
  git('init', '-q');
  mkdirSync(path.join(folder, 'test'));
  writeFileSync(path.join(folder, 'test/costs.json'), '{}');
  writeFileSync(path.join(folder, 'a.ts'), '1');
  git('add', '.');
  git('commit', '-qm', 'a');
  const commit = git('rev-parse', '--short', 'HEAD').trim();

  writeFileSync(path.join(folder, 'test/costs.json'), '{"a":1}');
  assert.equal(describeCommit(folder), commit);
  writeFileSync(path.join(folder, 'a.ts'), '2');
  assert.equal(describeCommit(folder), `${commit} with changes`);
});
