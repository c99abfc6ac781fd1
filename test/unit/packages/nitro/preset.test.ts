// packages/nitro: the preset, as Nitro reads it. That Nitro builds with it is shown by test/frameworks.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import preset from '#packages/nitro/nitro.config.mjs';
import { projectFolder } from '../../builder/project-folder.ts';

/** A Nitro as modules of a preset get it; Nitro 2 does not tell its version. */
function nitroDouble(version: 2 | 3, options: object = {}) {
  const hooks: string[] = [];
  return {
    ...(version === 3 ? { meta: { majorVersion: 3 } } : {}),
    hooks: { hook: (name: string) => void hooks.push(name) },
    hooked: hooks,
    options: {
      rootDir: '/app',
      baseURL: '/',
      static: false,
      entry: preset.entry,
      alias: {} as Record<string, string>,
      output: { dir: '/app/.platform/output', publicDir: '', serverDir: '' },
      unenv: [{ meta: { name: 'nitro-common' } }, { meta: { name: 'nitro-nodeless' } }, ...preset.unenv],
      ...options,
    },
  };
}

function setUp<Double extends object>(nitro: Double): Double {
  for (const module of preset.modules) module(nitro);
  return nitro;
}

test('Nitro 2 gets a worker that exists', () => {
  const nitro = setUp(nitroDouble(2));
  assert.ok(existsSync(nitro.options.entry));
  assert.deepEqual(nitro.hooked, ['compiled']);
});

test('Nitro 3 gets a worker around its own, of the project', (t) => {
  const own = 'node_modules/nitro/dist/presets/cloudflare/runtime/cloudflare-module.mjs';
  const rootDir = projectFolder(t, { 'node_modules/nitro/package.json': '{}', [own]: '' });
  const { options } = setUp(nitroDouble(3, { rootDir }));
  assert.match(options.entry, /worker-of-3\.mjs$/);
  assert.ok(existsSync(options.entry));
  assert.equal(options.alias['#platform/worker'], join(rootDir, own));
});

test('a Nitro 3 without that worker is refused with what to say in platform.yaml', (t) => {
  const rootDir = projectFolder(t, { 'node_modules/nitro/package.json': '{}' });
  assert.throws(() => setUp(nitroDouble(3, { rootDir })), /version of Nitro 3: .*cloudflare_module .*main.*out/);
});

test('modules and globals of Node are left to the platform', () => {
  const nitro = setUp(nitroDouble(2));
  assert.deepEqual(
    nitro.options.unenv.map(({ meta }) => meta.name),
    ['nitro-common', 'platform'],
  );
  const [node] = preset.unenv;
  assert.equal(node!.alias['fs'], 'node:fs');
  assert.equal(node!.alias['node:async_hooks'], 'node:async_hooks');
  assert.ok(node!.external.includes('node:stream/promises'));
  assert.equal(node!.inject['process'], false);
});

test('a site that is generated whole is written where Nitro has it, without a worker', () => {
  const nitro = setUp(nitroDouble(2, { static: true, baseURL: '/docs/' }));
  assert.deepEqual(nitro.options.output, {
    dir: '/app/.output',
    publicDir: '/app/.output/public/docs/',
    serverDir: '/app/.output/server',
  });
  assert.deepEqual(nitro.hooked, []);
});
