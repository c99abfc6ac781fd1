// platform-workspace.yaml and the monorepo rules of docs/platform-yaml.md.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspectRepository, parseWorkspaceFile } from '#core/config/workspace.ts';

function inspect(paths: readonly string[], texts: Record<string, string> = {}) {
  return inspectRepository({ paths: [...paths, ...Object.keys(texts)], texts });
}

test('a repository with one platform.yaml and no indicator is not a monorepo', () => {
  assert.deepEqual(inspect(['platform.yaml', 'src/index.ts'], { 'package.json': '{"name":"x"}' }), {
    monorepo: false,
    indicators: [],
    projectFiles: ['platform.yaml'],
    problems: [],
  });
});

test('a workspace manifest, a task runner or workspaces in package.json make a monorepo', () => {
  for (const file of [
    'pnpm-workspace.yaml',
    'lerna.json',
    'rush.json',
    'turbo.json',
    'turbo.jsonc',
    'nx.json',
    '.moon/workspace.yml',
  ]) {
    assert.deepEqual(inspect([file, 'platform.yaml']).indicators, [file]);
  }
  assert.deepEqual(inspect([], { 'package.json': '{"workspaces":["apps/*"]}' }).indicators, ['package.json']);
  assert.equal(inspect([], { 'package.json': '\ufeff{"workspaces":{"packages":["apps/*"]}}' }).monorepo, true);
});

test('indicators below the root, and a package.json that is broken or says nothing, do not', () => {
  for (const text of ['{', 'null', '[]', '"workspaces"', '{"workspaces":null}', '{"workspaces":true}']) {
    assert.equal(inspect(['apps/a/turbo.json'], { 'package.json': text }).monorepo, false, text);
  }
});

test('more than one platform.yaml makes a monorepo', () => {
  const { monorepo, projectFiles } = inspect([
    'b/platform.yaml',
    'a/platform.yaml',
    'a/xplatform.yaml',
    'platform.yml',
  ]);
  assert.equal(monorepo, true);
  assert.deepEqual(projectFiles, ['a/platform.yaml', 'b/platform.yaml']);
});

test('node_modules never counts, nor what platform-workspace.yaml excludes', () => {
  const paths = [
    'platform.yaml',
    'node_modules/x/platform.yaml',
    'a/node_modules/y/platform.yaml',
    'examples/hello/platform.yaml',
  ];
  assert.deepEqual(inspect(paths).projectFiles, ['examples/hello/platform.yaml', 'platform.yaml']);
  const excluded = inspect(paths, { 'platform-workspace.yaml': 'exclude: [examples/*]\n' });
  assert.deepEqual(excluded.projectFiles, ['platform.yaml']);
  assert.equal(excluded.monorepo, false);
});

test('a pattern excludes the folders it matches and everything below them', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['examples', 'examples', true],
    ['examples', 'examples/a/b', true],
    ['examples/', 'examples/a', true],
    ['./examples', 'examples', true],
    ['examples', 'apps/examples', false],
    ['examples/*', 'examples', false],
    ['examples/*', 'examples/a/b', true],
    ['**/fixtures', 'fixtures', true],
    ['**/fixtures', 'a/b/fixtures/c', true],
    ['a/**/z', 'a/z', true],
    ['a/**/z', 'a/b/c/z', true],
    ['a/**/z', 'b/z', false],
    ['**', 'a', true],
    ['app-?', 'app-1', true],
    ['app-?', 'app-10', false],
    ['*-test*', 'my-tests', true],
    ['a.b', 'axb', false],
    ['*', 'a', true],
  ];
  for (const [pattern, folder, isExcluded] of cases) {
    const { projectFiles } = inspect([`${folder}/platform.yaml`], {
      'platform-workspace.yaml': `exclude: ["${pattern}"]`,
    });
    assert.equal(projectFiles.length === 0, isExcluded, `${pattern} ${folder}`);
  }
});

test('a platform.yaml at the root is never excluded', () => {
  assert.deepEqual(inspect(['platform.yaml'], { 'platform-workspace.yaml': 'exclude: ["**", "*"]' }).projectFiles, [
    'platform.yaml',
  ]);
});

test('a pattern made to be slow is matched at once', () => {
  const pattern = `${'*a'.repeat(120)}b`;
  const folder = 'a'.repeat(5000);
  const { projectFiles } = inspect([`${folder}/platform.yaml`], {
    'platform-workspace.yaml': `exclude: ["${pattern}"]`,
  });
  assert.equal(projectFiles.length, 1);
});

test('a broken platform-workspace.yaml excludes nothing and says where it is wrong', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['exclude: a', '1:10 exclude must be a list of patterns, such as ["examples/*"], not "a"'],
    ['exclude: [1]', '1:11 exclude[0] must be a pattern such as "examples/*", of at most 256 characters, not 1'],
    [
      'exclude: [""]',
      '1:11 exclude[0] must be a pattern such as "examples/*", of at most 256 characters, not an empty text',
    ],
    ['excludes: []', '1:1 Unknown key "excludes"'],
    ['- a', '1:1 The file must be a map of keys, not a list'],
    ['exclude: ["!a"]', '1:11 "!a" begins with "!", which is not supported'],
    ['exclude: ["{a,b}"]', '1:11 "{a,b}" uses more than *, ** and ?, which is not supported'],
    ['exclude: ["/a"]', '1:11 "/a" must be relative to the root of the repository'],
    ['exclude: ["a/../b"]', '1:11 "a/../b" must be relative to the root of the repository'],
  ];
  for (const [text, problem] of cases) {
    const { exclude, problems } = parseWorkspaceFile(text, { file: 'platform-workspace.yaml' });
    assert.deepEqual(exclude, []);
    assert.deepEqual(
      problems.map(({ line, column, message }) => `${line}:${column} ${message}`),
      [problem],
    );
  }
  assert.deepEqual(parseWorkspaceFile('', { file: 'x' }), { exclude: [], problems: [] });
});
