// In which order test files are started.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longestFirst } from '#cli/tasks/run-tests.ts';

test('the longest test files of the last run come first', () => {
  const durations = { 'test/unit/a.test.ts': 10, 'test/unit/b.test.ts': 9000, 'test/integration/c.test.ts': 500 };
  assert.deepEqual(
    longestFirst(Object.keys(durations), durations, () => 0),
    ['test/unit/b.test.ts', 'test/integration/c.test.ts', 'test/unit/a.test.ts'],
  );
});

test('without a last run those that start processes come first, the larger ones before the smaller ones', () => {
  const sizes = {
    'test/unit/a.test.ts': 5000,
    'test/contract/b.test.ts': 1000,
    'test/integration/c.test.ts': 1000,
    'test/integration/d.test.ts': 9000,
  };
  assert.deepEqual(
    longestFirst(Object.keys(sizes), {}, (file) => sizes[file as keyof typeof sizes]),
    ['test/integration/d.test.ts', 'test/integration/c.test.ts', 'test/contract/b.test.ts', 'test/unit/a.test.ts'],
  );
});
