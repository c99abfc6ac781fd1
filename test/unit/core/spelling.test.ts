// "Did you mean": near words are found, far ones are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestWord } from '#core/spelling.ts';

const keys = ['kind', 'build', 'out', 'base', 'queue', 'compatibility_date', 'compatibility_flags', 'ai', 'db'];

test('a word that is near is found, whatever its case and separators', () => {
  const near: readonly (readonly [string, string])[] = [
    ['knid', 'kind'],
    ['Kind', 'kind'],
    ['buld', 'build'],
    ['queues', 'queue'],
    ['compatibilityDate', 'compatibility_date'],
    ['compatability-flag', 'compatibility_flags'],
    ['dbs', 'db'],
  ];
  for (const [word, meant] of near) assert.equal(nearestWord(word, keys), meant, word);
});

test('a word that is far, empty or very long has no neighbour', () => {
  for (const word of ['zzzz', 'x', '', '_', 'q'.repeat(41), 'compatibility_date'.repeat(100)]) {
    assert.equal(nearestWord(word, keys), undefined, word);
  }
});
