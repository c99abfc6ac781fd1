// builder/entry.ts: what kind a project is and where its worker starts.
import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { entryCandidates, findEntry } from '#builder/entry.ts';
import { configOf, projectFolder } from './project-folder.ts';

for (const [index, path] of entryCandidates.entries()) {
  test(`${path} makes a project dynamic and comes before the later candidates`, (t) => {
    const root = projectFolder(t, Object.fromEntries([...entryCandidates.slice(index), 'index.html'].map((name) => [name, ''])));
    assert.deepEqual(findEntry(root, configOf()), { kind: 'dynamic', entry: join(root, path) });
  });
}

test('main wins over the usual places', (t) => {
  const root = projectFolder(t, { 'src/index.ts': '', 'app/server.mts': '' });
  assert.deepEqual(findEntry(root, configOf('main: app/server.mts')), { kind: 'dynamic', entry: join(root, 'app/server.mts') });
});

test('the kind of platform.yaml is kept', (t) => {
  const root = projectFolder(t, { 'src/index.ts': '' });
  assert.deepEqual(findEntry(root, { ...configOf(), kind: 'static' }), { kind: 'static', entry: null });
  assert.equal(findEntry(root, configOf('kind: ssr')).kind, 'ssr');
});

test('an index.html without a worker is a static site', (t) => {
  assert.deepEqual(findEntry(projectFolder(t, { 'index.html': '' }), configOf()), { kind: 'static', entry: null });
  assert.deepEqual(findEntry(projectFolder(t, { 'dist/index.html': '' }), configOf('out: dist')), { kind: 'static', entry: null });
});

test('a folder that shows no kind says what was looked for', (t) => {
  assert.throws(() => findEntry(projectFolder(t, { 'readme.md': '' }), configOf()), {
    code: 'unknown_kind',
    message: `Cannot tell what kind of project this is: looked for ${entryCandidates.join(', ')} (a worker) and index.html (a static site). Set "kind" and "main" or "out" in platform.yaml`,
  });
});

test('a dynamic project without an entry says what was looked for', (t) => {
  assert.throws(() => findEntry(projectFolder(t, { 'index.html': '', 'src/index.ts/x': '' }), configOf('kind: worker')), {
    code: 'missing_entry',
    message: `No worker entry found: looked for ${entryCandidates.join(', ')}. Create one of them, or set "main" in platform.yaml`,
  });
});

test('a main that does not exist, is a folder, or leads out of the project is refused', (t) => {
  const root = projectFolder(t, { 'src/index.ts': '' });
  symlinkSync('/etc/hostname', join(root, 'out.ts'));
  assert.throws(() => findEntry(root, { ...configOf(), main: 'src/nope.ts' }), {
    code: 'missing_entry',
    message: `main: src/nope.ts does not exist (looked for ${join(root, 'src/nope.ts')})`,
  });
  assert.throws(() => findEntry(root, { ...configOf(), main: 'src' }), { code: 'missing_entry', message: /main: src is not a file/ });
  assert.throws(() => findEntry(root, { ...configOf(), main: 'out.ts' }), {
    code: 'missing_entry',
    message: 'main: out.ts lies outside of the project',
  });
  assert.throws(() => findEntry(root, { ...configOf(), main: '../x/index.ts' }), { code: 'missing_entry' });
});
