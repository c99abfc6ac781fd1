// packages/nitro: the preset, as Nitro reads it. That Nitro builds with it is shown by test/frameworks.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import preset from '#packages/nitro/nitro.config.mjs';

/** A Nitro as modules of a preset get it. @param isThree Nitro 3 answers by itself */
function nitroDouble(isThree: boolean, options: object = {}) {
  const hooks: string[] = [];
  return {
    ...(isThree ? { fetch: () => {} } : {}),
    hooks: { hook: (name: string) => void hooks.push(name) },
    hooked: hooks,
    options: {
      rootDir: '/app',
      baseURL: '/',
      static: false,
      entry: preset.entry,
      output: { dir: '/app/.platform/output', publicDir: '', serverDir: '' },
      unenv: [{ meta: { name: 'nitro-common' } }, { meta: { name: 'nitro-nodeless' } }, ...preset.unenv],
      ...options,
    },
  };
}

test('Nitro 2 gets a worker that exists', () => {
  const nitro = nitroDouble(false);
  for (const setUp of preset.modules) setUp(nitro);
  assert.ok(existsSync(nitro.options.entry));
  assert.deepEqual(nitro.hooked, ['compiled']);
});

test('Nitro 3 is refused with what to say in platform.yaml', () => {
  assert.throws(() => preset.modules[0]!(nitroDouble(true)), /is Nitro 3: .*cloudflare_module .*main.*out/);
});

test('modules and globals of Node are left to the platform', () => {
  const nitro = nitroDouble(false);
  for (const setUp of preset.modules) setUp(nitro);
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
  const nitro = nitroDouble(false, { static: true, baseURL: '/docs/' });
  for (const setUp of preset.modules) setUp(nitro);
  assert.deepEqual(nitro.options.output, {
    dir: '/app/.output',
    publicDir: '/app/.output/public/docs/',
    serverDir: '/app/.output/server',
  });
  assert.deepEqual(nitro.hooked, []);
});
