// Which files a change reaches.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reach } from '#cli/tasks/suites/reach.ts';

const sources = {
  'core/limits.ts': '',
  'core/names.ts': `import type { Limits } from './limits.ts';`,
  'runtime/engine/main.ts': `import { limits } from '#core/limits.ts';`,
  'runtime/supervisor/main.ts': `start('../engine/main');`,
  'test/setup/platform.ts': `fork(join(import.meta.dirname, '../../runtime/supervisor/main.ts'));`,
  'test/integration/a.test.ts': `import { startPlatform } from '#test/setup/platform.ts';`,
  'test/unit/b.test.ts': `import { names } from '#core/names.ts';`,
  'postgres/migrate.ts': '',
  'postgres/migrations/0001.sql': 'SELECT 1;',
  'test/unit/c.test.ts': `import '#postgres/migrate.ts';`,
};

test('a change reaches what imports it and what starts a program with it, at a distance', () => {
  const { distanceOf } = reach(['core/limits.ts'], sources);
  assert.deepEqual(
    ['core/limits.ts', 'runtime/engine/main.ts', 'test/integration/a.test.ts'].map(distanceOf),
    [0, 1, 4],
  );
});

test('an import of types alone is no way', () => {
  assert.equal(reach(['core/limits.ts'], sources).distanceOf('test/unit/b.test.ts'), null);
});

test('a file that is no module reaches the modules of the folder above it', () => {
  assert.equal(reach(['postgres/migrations/0001.sql'], sources).distanceOf('test/unit/c.test.ts'), 2);
});

test('the manifest of the packages reaches everything', () => {
  assert.equal(reach(['package-lock.json'], sources).distanceOf('test/unit/b.test.ts'), 0);
});

test('a suite is reached through its modules, and through what it covers without importing it', () => {
  const { distanceOfFolder } = reach(['core/limits.ts'], sources);
  assert.equal(distanceOfFolder('test/integration/', []), 4);
  assert.equal(distanceOfFolder('test/compose/', ['core/']), 1);
  assert.equal(distanceOfFolder('test/compose/', ['docs/']), null);
});
