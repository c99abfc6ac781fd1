// Which pushes lead to deployments, and which came too late.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOvertaken, skipReason, type PushOrder } from '#control/git-host/push-rules.ts';

const push = (before: string | null, after: string | null, pushedAt = 100): PushOrder => ({ before, after, pushedAt });

test('a push is overtaken by one of a later second, or by one that begins where it ends', () => {
  assert.equal(isOvertaken(push('a', 'b'), []), false);
  assert.equal(isOvertaken(push('a', 'b'), [push('x', 'y', 101)]), true);
  assert.equal(isOvertaken(push('a', 'b'), [push('x', 'y', 99), push('b', 'c', 99)]), false);
  assert.equal(isOvertaken(push('a', 'b'), [push('b', 'c')]), true);
  assert.equal(isOvertaken(push('a', 'b'), [push('c', 'd'), push('b', 'c')]), true);
  assert.equal(isOvertaken(push('a', 'b'), [push('0', 'a')]), false);
});

test('a branch that was put back within the second is where it was told last', () => {
  assert.equal(isOvertaken(push('b', 'a'), [push('a', 'b')]), false);
  assert.equal(isOvertaken(push('c', 'a'), [push(null, 'a'), push('a', 'b'), push('b', 'c')]), false);
  assert.equal(isOvertaken(push(null, 'a'), [push('a', 'b'), push('b', 'c'), push('c', 'a')]), true);
});

test('a branch that is removed, and made again, is what came last', () => {
  assert.equal(isOvertaken(push('a', null), [push(null, 'a')]), false);
  assert.equal(isOvertaken(push('a', null), [push(null, 'b')]), true);
  assert.equal(isOvertaken(push(null, 'b'), [push('a', null)]), false);
});

test('marks in the commit skip, whatever it touches', () => {
  const skip = (message: string): string | null => skipReason({ message, files: null }, { configPath: '' }, ['']);
  assert.equal(skip('Fix a typo [skip ci]'), 'The commit says [skip ci]');
  assert.equal(skip('Fix [CI SKIP]'), 'The commit says [CI SKIP]');
  assert.equal(skip('[no deploy]'), 'The commit says [no deploy]');
  assert.equal(skip('Explain skip ci and [skip]'), null);
});

test('what a project shares with others concerns it, what is theirs does not', () => {
  const folders = ['apps/web', 'apps/docs'];
  const isSkipped = (files: readonly string[] | null, configPath = 'apps/web'): boolean =>
    skipReason({ message: '', files }, { configPath }, folders) !== null;
  const cases: [readonly string[] | null, boolean][] = [
    [null, false],
    [['apps/web/src/index.ts'], false],
    [['apps/docs/index.md'], true],
    [['apps/website/index.ts'], false],
    [['apps/docs/index.md', 'packages/ui/button.ts'], false],
    [['package-lock.json'], false],
    [['README.md', 'LICENSE'], true],
    [[], true],
  ];
  for (const [files, expected] of cases) assert.equal(isSkipped(files), expected, String(files));
  assert.equal(isSkipped(['apps/docs/index.md'], ''), false);
});
