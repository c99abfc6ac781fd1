// Which test files share a process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupsOf } from '#cli/tasks/suites/groups.ts';

test('neighbours share a process up to 15 CPU seconds', () => {
  const costs: Readonly<Record<string, number>> = { 'test/unit/a': 9, 'test/unit/b': 6, 'test/unit/c': 1 };
  assert.deepEqual(
    groupsOf(['test/unit/c', 'test/unit/a', 'test/unit/b'], (file) => costs[file]!),
    [['test/unit/a', 'test/unit/b'], ['test/unit/c']],
  );
});

test('files that look at the state of their process, and those of slow suites, have one of their own', () => {
  const own = 'test/unit/runtime/engine/isolates/a.test.ts';
  assert.deepEqual(
    groupsOf(['test/edge/b.test.ts', 'test/edge/c.test.ts', own], () => 1),
    [['test/edge/b.test.ts'], ['test/edge/c.test.ts'], [own]],
  );
});
