// packages/astro: the adapter as the builder gives it to an app, what it tells Astro, and what its worker keeps. Astro
// is a double with the hooks that the adapter has; that real apps run is shown by test/frameworks.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { adapterVariables } from '#builder/frameworks/adapters.ts';
import platform from '#packages/astro/index.mjs';
import sessions from '#packages/astro/runtime/sessions.mjs';
import { configOf, projectFolder, writeFiles } from '../../builder/project-folder.ts';

/** The adapter that a configuration has once the hook of build commands is there. */
function adapterOf(t: TestContext, config: string): string {
  const root = projectFolder(t, {
    'package.json': JSON.stringify({ dependencies: { astro: '^7.0.0' } }),
    'astro.config.mjs': config,
    'show.mjs': `import config from './astro.config.mjs';\nconsole.log(config.adapter?.name, config.output, config.other);`,
    'node_modules/astro/package.json': JSON.stringify({
      type: 'module',
      version: '7.3.5',
      exports: { './config': './dist/config/entrypoint.js' },
    }),
    'node_modules/astro/dist/config/entrypoint.js': `export const defineConfig = (config) => config;\nexport const other = 'kept';`,
    'node_modules/@astrojs/node/package.json': JSON.stringify({ type: 'module', exports: './dist/index.js' }),
    'node_modules/@astrojs/node/dist/index.js': `export default ({ mode }) => ({ name: 'node ' + mode });`,
  });
  const env = { ...process.env, ...adapterVariables(root, configOf('build: astro build')), NODE_TEST_CONTEXT: '' };
  return execFileSync(process.execPath, ['show.mjs'], { cwd: root, env, encoding: 'utf8' }).trim();
}

test('@astrojs/node is replaced, whatever its options', (t) => {
  const config = `import node from '@astrojs/node'; export default { adapter: node({ mode: 'standalone' }), output: 'server' };`;
  assert.equal(adapterOf(t, config), '@platform-run/astro server undefined');
});

test('a configuration without adapter gets ours by its defineConfig, and another one keeps its own', (t) => {
  const define = `import { defineConfig, other } from 'astro/config'; export default defineConfig`;
  assert.equal(adapterOf(t, `${define}({ output: 'server', other });`), '@platform-run/astro server kept');
  assert.equal(adapterOf(t, `${define}({ adapter: { name: 'own' }, other });`), 'own undefined kept');
});

interface Config {
  root: URL;
  base: string;
  session?: { driver?: unknown };
  build: { assets: string; server?: URL; client?: URL; serverEntry?: string };
}

/** Runs the adapter's hooks as a build does. @param route a redirect that the build knows */
function builds(root: string, base: string, buildOutput: 'server' | 'static', files: Record<string, string>) {
  const { hooks } = platform({ mode: 'standalone' });
  const config: Config = { root: pathToFileURL(`${root}/`), base, build: { assets: '_astro' } };
  let updated: { session?: { driver: { entrypoint: string } } } = {};
  hooks['astro:config:setup']!({ config, updateConfig: (more: object) => (updated = more) });
  let adapter = {};
  hooks['astro:config:done']!({ config, buildOutput, setAdapter: (given: object) => (adapter = given) });
  const redirect = (pattern: string, to: unknown, more: object = {}) => ({
    type: 'redirect',
    pattern,
    redirect: to,
    isPrerendered: true,
    params: [],
    ...more,
  });
  hooks['astro:routes:resolved']!({
    routes: [
      redirect('/old', '/new'),
      redirect('/gone', { destination: '/', status: 302 }),
      redirect('/asked', '/x', { isPrerendered: false }),
      { type: 'page', pattern: '/', params: [] },
    ],
  });
  hooks['astro:build:start']!({});
  if (config.build.client !== undefined) {
    mkdirSync(config.build.client, { recursive: true });
    writeFiles(config.build.client.pathname, files);
  }
  hooks['astro:build:done']!({});
  return { config, updated, adapter };
}

test('a server and its files are written where the platform looks, with rules for what never changes', (t) => {
  const root = projectFolder(t, { '.platform/output/server/stale.mjs': '' });
  const { config, adapter, updated } = builds(root, '/docs', 'server', { _headers: '/*\n  X-Own: yes\n' });
  const read = (file: string): string => readFileSync(join(root, '.platform/output', file), 'utf8');
  assert.equal(config.build.server!.pathname, `${root}/.platform/output/server/`);
  assert.equal(config.build.serverEntry, 'index.mjs');
  assert.match((adapter as { serverEntrypoint: string }).serverEntrypoint, /packages\/astro\/runtime\/worker\.mjs$/);
  assert.match(updated.session!.driver.entrypoint, /sessions\.mjs$/);
  assert.match(read('public/_headers'), /X-Own: yes\n\n\/docs\/_astro\/\*\n {2}! Cache-Control\n {2}.*immutable/);
  assert.equal(read('public/_redirects'), '/docs/old /new 301\n/docs/gone / 302\n');
  assert.throws(() => read('public/docs/_headers'), { code: 'ENOENT' });
  assert.throws(() => read('server/stale.mjs'), { code: 'ENOENT' });
});

test('a site that is generated whole is left where Astro writes it', (t) => {
  const root = projectFolder(t, { '.platform/output/keep.txt': '' });
  const { config } = builds(root, '/', 'static', {});
  assert.equal(config.build.client, undefined);
  assert.equal(readFileSync(join(root, '.platform/output/keep.txt'), 'utf8'), '');
});

test('sessions are kept in the state binding SESSIONS, and asked for where it is missing', async (t) => {
  const place = globalThis as Record<symbol, unknown>;
  const key = Symbol.for('platform.env');
  t.after(() => delete place[key]);
  const kept = new Map<string, string>();
  const driver = sessions();
  await assert.rejects(driver.getItem('a'), /state: \{ SESSIONS: sessions \}.*platform\.yaml/);
  place[key] = {
    SESSIONS: {
      get: async (name: string) => kept.get(name) ?? null,
      put: async (name: string, value: string) => void kept.set(name, value),
      delete: async (name: string) => void kept.delete(name),
    },
  };
  await driver.setItem('a', 'one');
  assert.equal(await driver.getItem('a'), 'one');
  assert.equal(await driver.hasItem('a'), true);
  await driver.removeItem('a');
  assert.equal(await driver.hasItem('a'), false);
});
