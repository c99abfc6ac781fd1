// Which import alone brings modules: what `npm run bench loaded` shows.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { loadedBy, type Edge } from '#bench/module-graph.ts';

test('an import brings the modules that no other one leads to', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'graph-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, 'node_modules'));
  const url = (name: string): string => {
    writeFileSync(path.join(folder, name), 'x'.repeat(1024));
    return pathToFileURL(path.join(folder, name)).href;
  };
  const [main, api, yaml, part, other, shared] = [
    url('main.ts'),
    url('api.ts'),
    url('node_modules/yaml.js'),
    url('node_modules/part.js'),
    url('other.ts'),
    url('shared.ts'),
  ];
  const edges: Edge[] = [
    ['', main!],
    [main!, api!],
    [main!, other!],
    [main!, shared!],
    [api!, 'node:fs'],
    [api!, yaml!],
    [yaml!, part!],
    [other!, shared!],
  ];
  assert.deepEqual(loadedBy(edges, 2), {
    modules: 6,
    ofPackages: 2,
    kilobytes: 6,
    // api.ts brings three of six; yaml.js two of these, which is another matter than the same.
    bringers: [
      { module: api, importers: [main], modules: 3, kilobytes: 3 },
      { module: yaml, importers: [api], modules: 2, kilobytes: 2 },
    ],
  });
});
