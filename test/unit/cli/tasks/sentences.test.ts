// Which sentences are drawn for somebody to judge.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawSentences } from '#cli/tasks/sentences.ts';

const sources = {
  'docs/a.md': [
    '# A heading is not drawn',
    '',
    'Workers run in isolates of V8. They',
    'share one process, see [limits](limits.md).',
    '',
    '| name  | what it says to the reader |',
    '```sh',
    'echo "This is not a sentence at all"',
    '```',
  ].join('\n'),
  'core/a.ts': [
    '// Reads the file once it exists.',
    '/** @returns the number of bytes that were read. */',
    "export const a = 'The file does not exist: create it';",
    "const sql = 'SELECT a FROM b WHERE c';",
  ].join('\n'),
  'test/a.test.ts': '// Comments of tests are left out here.',
};

test('prose, comments and texts of interfaces are drawn in equal parts, with their lines', () => {
  assert.deepEqual(
    drawSentences(sources, 'any', 60)
      .map(({ file, line, text }) => `${file}:${line} ${text}`)
      .toSorted(),
    [
      'core/a.ts:1 Reads the file once it exists.',
      'core/a.ts:2 @returns the number of bytes that were read.',
      'core/a.ts:3 The file does not exist: create it',
      'docs/a.md:3 They share one process, see limits.',
      'docs/a.md:3 Workers run in isolates of V8.',
      'docs/a.md:6 what it says to the reader',
    ],
  );
});

test('a seed draws the same sentences again', () => {
  assert.deepEqual(drawSentences(sources, 'seed', 3), drawSentences(sources, 'seed', 3));
  assert.equal(drawSentences(sources, 'seed', 3).length, 3);
});
