// Which faults are planted in product files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawFaults } from '#cli/tasks/faults.ts';

const sources = {
  'core/a.ts': '// a === b\nexport const isSame = (a: number, b: number): boolean => a === b;\n',
  'core/b.ts': 'export const next = (n: number): number => n + 1;\n',
  'core/c.ts': 'export const text = "nothing to change";\n',
  'test/unit/d.test.ts': 'export const isTrue = 1 === 1;\n',
};

test('faults are drawn over product files that have something to change, not in comments, one a file', () => {
  const faults = drawFaults(sources, 'seed', 12).toSorted((a, b) => (a.file < b.file ? -1 : 1));
  assert.deepEqual(
    faults.map(({ file, line, before, after }) => [file, line, before, after]),
    [
      ['core/a.ts', 2, ' === ', ' !== '],
      ['core/b.ts', 1, ' + 1', ' + 2'],
    ],
  );
});

test('the same seed draws the same faults', () => {
  assert.deepEqual(drawFaults(sources, 'seed', 1), drawFaults(sources, 'seed', 1));
});
