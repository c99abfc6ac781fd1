import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from '#builder/build/build.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import type { Manifest } from '#core/manifest.ts';
import { projectFolder } from './project-folder.ts';

async function built(root: string, yaml = 'kind: ssr\n', onWarning: (text: string) => void = () => {}) {
  const { config } = parseProjectConfig(yaml, { file: 'platform.yaml' });
  const { folder } = await build({
    root,
    config: config!,
    artifacts: join(root, '.artifacts'),
    durable: false,
    made: [],
    onWarning,
  });
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  const names = execFileSync('tar', ['-tf', join(folder, 'server.tar')], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
  return { manifest, names };
}

test('what Next.js put together is the whole server, with its files served before it', async (t) => {
  const root = projectFolder(t, {
    'package.json': '{"dependencies":{"next":"16.0.0"},"scripts":{"start":"next start"}}',
    '.next/standalone/server.js': '',
    '.next/standalone/.env': 'SECRET=1',
    '.next/standalone/node_modules/next/package.json': '{}',
    '.next/static/chunks/main.js': 'js',
    'public/robots.txt': 'txt',
    'secret.txt': 'of the repository',
  });
  const { manifest, names } = await built(root);
  assert.equal(manifest.server?.start, 'node server.js');
  assert.deepEqual(Object.keys(manifest.assets?.files ?? {}), ['_next/static/chunks/main.js', 'robots.txt']);
  assert.deepEqual(manifest.assets?.headers, [
    { pattern: '/_next/static/*', set: [['cache-control', 'public, max-age=31536000, immutable']], remove: [] },
  ]);
  // Its image optimizer reads them, too.
  assert.deepEqual(names.filter((name) => !name.endsWith('/')).sort(), [
    '.next/static/chunks/main.js',
    'node_modules/next/package.json',
    'public/robots.txt',
    'server.js',
  ]);
});

test('the build of a Next.js server with all packages suggests standalone', async (t) => {
  const said: string[] = [];
  const files = { '.next/server/page.js': 'x'.repeat(2_100_000), 'node_modules/next/package.json': '{}' };
  const manifest = '{"dependencies":{"next":"16.0.0"},"scripts":{"start":"next start"}}';
  await built(projectFolder(t, { ...files, 'package.json': manifest }), undefined, (text) => said.push(text));
  assert.deepEqual(said, [
    "The server is 3 MB, because it includes all packages. Set `output: 'standalone'` in next.config to include only the packages that it needs: deploys and starts are faster",
  ]);
});

test('in a monorepo the server of Next.js lies below the path of its project', async (t) => {
  const workspace = projectFolder(t, {
    'package.json': '{"workspaces":["apps/*"]}',
    'apps/web/package.json': '{"dependencies":{"next":"16.0.0"}}',
    'apps/web/.next/standalone/apps/web/server.js': '',
    'apps/web/.next/standalone/node_modules/next/package.json': '{}',
  });
  const { config } = parseProjectConfig('kind: ssr\n', { file: 'platform.yaml' });
  const root = join(workspace, 'apps/web');
  const artifacts = join(workspace, '.artifacts');
  const { folder } = await build({ root, workspace, config: config!, artifacts, durable: false, made: [] });
  const { server } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  assert.deepEqual([server?.folder, server?.start], ['apps/web', 'node server.js']);
});

test('packages go along as links lead to them, those of development do not', async (t) => {
  const root = projectFolder(t, {
    'package.json': JSON.stringify({
      dependencies: { one: '1.0.0' },
      devDependencies: { tool: '1.0.0' },
      scripts: { start: 'node server.js' },
    }),
    'server.js': '',
    'node_modules/.pnpm/one@1.0.0/node_modules/one/package.json': '{"dependencies":{"two":"1.0.0"}}',
    'node_modules/.pnpm/two@1.0.0/node_modules/two/package.json': '{}',
    'node_modules/.pnpm/tool@1.0.0/node_modules/tool/package.json': '{}',
  });
  const store = join(root, 'node_modules/.pnpm');
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  symlinkSync('.pnpm/one@1.0.0/node_modules/one', join(root, 'node_modules/one'));
  symlinkSync('.pnpm/tool@1.0.0/node_modules/tool', join(root, 'node_modules/tool'));
  symlinkSync('../../two@1.0.0/node_modules/two', join(store, 'one@1.0.0/node_modules/two'));
  const { names } = await built(root);
  const has = (name: string): boolean => names.includes(name);
  assert.ok(has('node_modules/one') && has('node_modules/.pnpm/one@1.0.0/node_modules/two'));
  assert.ok(has('node_modules/.pnpm/two@1.0.0/node_modules/two/package.json'));
  assert.ok(!names.some((name) => name.includes('tool')));
});

test('a package that is not installed, and a server that nothing starts, are named with what to do', async (t) => {
  const missing = projectFolder(t, {
    'package.json': '{"dependencies":{"one":"1.0.0"},"scripts":{"start":"node x.js"}}',
  });
  await assert.rejects(
    built(missing),
    /package\.json depends on "one", which is not installed: install the dependencies/,
  );
  await assert.rejects(built(projectFolder(t, { 'server.js': '' })), /add a script "start" to package\.json/);
});

for (const [name, files, start] of [
  [
    'start:prod goes before start',
    { scripts: { start: 'nest start', 'start:prod': 'node dist/main' } },
    'node dist/main',
  ],
  [
    'a start that is a development server gives way to the framework',
    { dependencies: { next: '15.0.0' }, scripts: { start: 'next dev' } },
    'next start',
  ],
] as const)
  test(`what starts a server: ${name}`, async (t) => {
    const root = projectFolder(t, {
      'package.json': JSON.stringify(files),
      'node_modules/next/package.json': '{"name":"next","version":"15.0.0"}',
    });
    assert.equal((await built(root)).manifest.server?.start, start);
  });

test('a project whose only start is a development server says that it needs another one', async (t) => {
  const root = projectFolder(t, { 'package.json': '{"scripts":{"start":"vite --open"}}' });
  await assert.rejects(built(root), /kind: ssr needs a command that starts the server: add a script "start"/);
});
