// builder/frameworks/entry.ts: what kind a project is and where its worker starts.
import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findEntry } from '#builder/frameworks/entry.ts';
import { entryCandidates } from '#builder/frameworks/table.ts';
import { configOf, projectFolder } from '../project-folder.ts';

for (const [index, path] of entryCandidates.entries()) {
  test(`${path} makes a project dynamic and comes before the later candidates`, (t) => {
    const root = projectFolder(
      t,
      Object.fromEntries([...entryCandidates.slice(index), 'index.html'].map((name) => [name, ''])),
    );
    assert.deepEqual(findEntry(root, configOf()), { kind: 'dynamic', entry: join(root, path) });
  });
}

test('main wins over the usual places', (t) => {
  const root = projectFolder(t, { 'src/index.ts': '', 'app/server.mts': '' });
  assert.deepEqual(findEntry(root, configOf('main: app/server.mts')), {
    kind: 'dynamic',
    entry: join(root, 'app/server.mts'),
  });
});

test('the kind of platform.yaml is kept', (t) => {
  const root = projectFolder(t, { 'src/index.ts': '' });
  assert.deepEqual(findEntry(root, { ...configOf(), kind: 'static' }), { kind: 'static', entry: null });
});

test('kind: ssr has no worker of its own, whatever lies there', (t) => {
  const root = projectFolder(t, { 'src/index.ts': '' });
  assert.deepEqual(findEntry(root, configOf('kind: ssr\nbuild: next build')), { kind: 'ssr', entry: null });
});

test('the worker that a framework puts into its output folder is found there', (t) => {
  const config = configOf('kind: dynamic\nbuild: x\nout: dist');
  assert.deepEqual(
    findEntry(projectFolder(t, { 'dist/_worker.js': '', 'src/index.ts': '' }), config)
      .entry?.split('/')
      .slice(-2),
    ['dist', '_worker.js'],
  );
  const server = projectFolder(t, { 'dist/server/index.mjs': '' });
  assert.deepEqual(findEntry(server, config), { kind: 'dynamic', entry: join(server, 'dist/server/index.mjs') });
  // What a site has for browsers makes it no worker.
  assert.equal(
    findEntry(projectFolder(t, { 'dist/index.js': '', 'dist/index.html': '' }), configOf('out: dist')).kind,
    'static',
  );
});

test('what the browser starts at is no worker', (t) => {
  const page = '<html><script type="module" async src="/src/index.tsx?v=1"></script>';
  const root = projectFolder(t, { 'index.html': page, 'src/index.tsx': '', 'worker/index.ts': '' });
  assert.deepEqual(findEntry(root, configOf()), { kind: 'dynamic', entry: join(root, 'worker/index.ts') });
  const react = projectFolder(t, { 'package.json': '{"dependencies":{"react-scripts":"5"}}', 'src/index.js': '' });
  assert.equal(findEntry(react, configOf('build: npm run build')).kind, 'static');
});

test('a project that has to be built says so instead of publishing its sources', (t) => {
  const cases: readonly [files: Record<string, string>, because: string, build: string][] = [
    [{ 'package.json': '{"scripts":{"build":"vite build"}}' }, 'package.json has a script "build"', 'npm run build'],
    [{ 'package.json': '{"devDependencies":{"vite":"8"}}' }, 'it uses Vite', 'vite build'],
    [{ 'vite.config.ts': '' }, 'it uses Vite', 'vite build'],
    [{ 'index.html': '<script src="main.ts"></script>' }, 'index.html loads TypeScript or JSX', 'npm run build'],
  ];
  for (const [files, because, build] of cases) {
    assert.throws(() => findEntry(projectFolder(t, { 'index.html': '', ...files }), configOf()), {
      code: 'unknown_kind',
      message: `This project has to be built before it is served: ${because}. Add "build: ${build}" to platform.yaml, or "out" with the folder to serve as it is`,
    });
  }
});

test('an index.html without a worker is a static site', (t) => {
  assert.deepEqual(findEntry(projectFolder(t, { 'index.html': '' }), configOf()), { kind: 'static', entry: null });
  assert.deepEqual(findEntry(projectFolder(t, { 'dist/index.html': '' }), configOf('out: dist')), {
    kind: 'static',
    entry: null,
  });
});

test('a folder that shows no kind says what was looked for', (t) => {
  assert.throws(() => findEntry(projectFolder(t, { 'readme.md': '' }), configOf()), {
    code: 'unknown_kind',
    message: `There is no project here: looked for ${entryCandidates.join(', ')}, index.html, platform.yaml and package.json. Change to the folder of your project, or create one with \`platform init\``,
  });
  assert.throws(() => findEntry(projectFolder(t, { 'package.json': '{}' }), configOf()), {
    code: 'unknown_kind',
    message: `Cannot tell what kind of project this is: looked for ${entryCandidates.join(', ')} (a worker) and index.html (a static site). Set "kind" and "main" or "out" in platform.yaml`,
  });
  assert.throws(() => findEntry(projectFolder(t, { 'wrangler.toml': 'main = "app/main.ts"' }), configOf()), {
    message: /in platform\.yaml; `platform import` makes one of wrangler\.toml$/,
  });
});

test('a dynamic project without an entry says what was looked for', (t) => {
  assert.throws(
    () => findEntry(projectFolder(t, { 'index.html': '', 'src/index.ts/x': '' }), configOf('kind: worker')),
    {
      code: 'missing_entry',
      message: `No worker entry found: looked for ${entryCandidates.join(', ')}. Create one of them, or set "main" in platform.yaml`,
    },
  );
});

test('a main that does not exist, is a folder, or leads out of the project is refused', (t) => {
  const root = projectFolder(t, { 'src/index.ts': '' });
  symlinkSync('/etc/hostname', join(root, 'out.ts'));
  assert.throws(() => findEntry(root, { ...configOf(), main: 'src/nope.ts' }), {
    code: 'missing_entry',
    message: `main: src/nope.ts does not exist (looked for ${join(root, 'src/nope.ts')})`,
  });
  assert.throws(() => findEntry(root, { ...configOf(), main: 'src' }), {
    code: 'missing_entry',
    message: /main: src is not a file/,
  });
  assert.throws(() => findEntry(root, { ...configOf(), main: 'out.ts' }), {
    code: 'missing_entry',
    message: 'main: out.ts lies outside of the project',
  });
  assert.throws(() => findEntry(root, { ...configOf(), main: '../x/index.ts' }), { code: 'missing_entry' });
});
