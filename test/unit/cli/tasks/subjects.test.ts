// Subjects of commits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectionTo } from '#cli/tasks/subjects.ts';

test('a subject names its scope and what was done, in at most 60 characters', () => {
  for (const subject of [
    'engine: retry forwarded GETs once',
    'ci, test: split the walk',
    'Merge branch x',
    `ci: ${'x'.repeat(56)}`,
  ])
    assert.equal(objectionTo(subject), null);
  assert.equal(objectionTo(`ci: ${'x'.repeat(57)}`), 'has 61 characters, at most 60 are allowed');
  for (const subject of ['Keep a comment', 'engine:retry', 'Engine: retry', ''])
    assert.equal(objectionTo(subject), 'does not read "scope: verb object"');
  assert.equal(objectionTo('engine: retry once.'), 'ends with a full stop');
});
