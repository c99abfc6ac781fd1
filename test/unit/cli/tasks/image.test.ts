// What container images hold, by their lists; test/compose/ builds them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { contentsOf } from '#cli/tasks/image.ts';
import { readModules } from '#cli/tasks/tools/import-graph.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { readSources } from '#cli/tasks/tools/sources.ts';

test('an image whose modules work out schedules holds the package for that, which is loaded when the first is due', () => {
  const modules = readModules(readSources(root));
  const { packages: lock } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  const found = ['handler', 'internal', 'control', 'platform'].map((image) => {
    const { files, packages } = contentsOf(modules, image, lock);
    return [image, files.has('core/schedules/cron-next.ts'), packages.includes('node_modules/croner')];
  });
  assert.deepEqual(found, [
    ['handler', true, true],
    ['internal', true, true],
    ['control', true, true],
    ['platform', true, true],
  ]);
});
