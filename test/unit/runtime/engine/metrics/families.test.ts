import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { families } from '#runtime/engine/metrics/families.ts';

test('the documentation lists every metric with its type and meaning, and no other', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../../docs/operating.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(platform_\w+)` +\| (\w+) +\|[^|]*\| (.*?) +\|$/gm)].map(
    ([, name, type, help]) => [name, type, help],
  );
  assert.deepEqual(
    rows,
    Object.entries(families).map(([name, { type, help }]) => [name, type, help]),
  );
});

test('counters end with _total, and nothing else does', () => {
  for (const [name, { type }] of Object.entries(families))
    assert.equal(name.endsWith('_total'), type === 'counter', name);
});
