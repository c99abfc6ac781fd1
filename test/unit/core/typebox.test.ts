// core/typebox/typebox.mjs is the installed TypeBox, and nothing loads that itself.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readImports } from '#cli/tasks/tools/imports.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { bundledTypebox, bundleTypebox } from '#cli/tasks/typebox.ts';
import Type, { Compile } from '#core/typebox/typebox.mjs';

test('the bundle is what the installed version gives', async () => {
  assert.ok(
    readFileSync(bundledTypebox, 'utf8') === (await bundleTypebox()),
    'core/typebox/typebox.mjs is of another version: run node cli/run.mjs :typebox',
  );
});

test('it checks, and says what is wrong', () => {
  const check = Compile(Type.Object({ name: Type.String({ minLength: 2 }), at: Type.Optional(Type.Integer()) }));
  assert.equal(check.Check({ name: 'Ada' }), true);
  assert.equal(check.Check({ name: 'Ada', at: 1.5 }), false);
  assert.deepEqual(check.Errors({ name: 'Ada' }), []);
  assert.deepEqual(
    check.Errors({ name: 'A' }).map(({ instancePath, message }) => [instancePath, message]),
    [['/name', 'must not have fewer than 2 characters']],
  );
});

test('it has each type that a module names', () => {
  const named = new Set<string>();
  for (const file of globSync(
    '{artifacts,builder,cli,control,core,gateway,operations,resources,runtime,sandbox,web}/**/*.ts',
    {
      cwd: root,
      exclude: ['**/node_modules/**'],
    },
  )) {
    const text = readFileSync(path.join(root, file), 'utf8');
    if (!/^import Type\b.*typebox\.mjs'|^import \{.*\bType\b.*typebox\.mjs'/m.test(text)) continue;
    for (const [, name] of text.matchAll(/\bType\.(\w+)\(/g)) named.add(name!);
  }
  assert.ok(named.has('Object'));
  assert.deepEqual(
    [...named].filter((name) => !Object.hasOwn(Type, name)),
    [],
  );
});

test('no module of the platform loads the 680 files of the package', () => {
  const found = globSync(
    ['{core,deployments,control,operations,resources,web,runtime,builder,git,postgres}/**/*.ts', 'cli/*/**/*.ts'],
    {
      cwd: root,
      exclude: ['cli/tasks/**', '**/node_modules/**'],
    },
  ).filter((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    // Few files hold the word, and parsing the others is the dear part.
    return (
      text.includes('typebox') &&
      readImports(file, text).some(({ specifier, typeOnly }) => !typeOnly && /^typebox(?:\/|$)/.test(specifier))
    );
  });
  assert.deepEqual(found, []);
});
