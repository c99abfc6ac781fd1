import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { completed, linkedFolders, lockedFolders, missingOptional, type Lockfile } from '#cli/tasks/lock.ts';
import { root } from '#cli/tasks/tools/processes.ts';

for (const folder of lockedFolders) {
  test(`the lockfile of ${folder} names every optional package of other machines, so that npm ci takes it`, () => {
    const lockfile = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8')) as Lockfile;
    assert.deepEqual(missingOptional(lockfile), [], 'run `npm run lock`');
  });
}

test('a missing optional package gets an entry with the machine its name says', () => {
  const lockfile: Lockfile = {
    packages: {
      'node_modules/tool': {
        version: '1.0.0',
        dev: true,
        optionalDependencies: {
          '@tool/linux-x64-musl': '1.0.0',
          '@tool/binding-wasm32-wasi': '1.0.0',
          '@tool/here': '1.0.0',
        },
      },
      'node_modules/@tool/here': { version: '1.0.0' },
    },
  };
  assert.deepEqual(missingOptional(lockfile), ['@tool/linux-x64-musl@1.0.0', '@tool/binding-wasm32-wasi@1.0.0']);
  const { packages } = completed(lockfile);
  assert.deepEqual(packages['node_modules/@tool/linux-x64-musl'], {
    cpu: ['x64'],
    os: ['linux'],
    libc: ['musl'],
    version: '1.0.0',
    optional: true,
    dev: true,
  });
  assert.deepEqual(packages['node_modules/@tool/binding-wasm32-wasi'], {
    cpu: ['wasm32'],
    version: '1.0.0',
    optional: true,
    dev: true,
  });
  assert.deepEqual(packages['node_modules/@tool/here'], { version: '1.0.0' });
});

test('no package of a lockfile asks for an engine: npm would warn of the Node it runs on, which is not theirs', () => {
  for (const folder of lockedFolders) {
    const { packages } = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8')) as Lockfile;
    const asking = Object.entries(packages).filter(
      ([name, { engines }]) => name.startsWith('node_modules/') && engines !== undefined,
    );
    assert.deepEqual(asking, [], 'run `npm run lock`');
  }
  assert.deepEqual(
    completed({ packages: { '': { engines: { node: '>=20' } }, 'node_modules/tool': { engines: { node: '>=24' } } } }),
    {
      packages: { '': { engines: { node: '>=20' } }, 'node_modules/tool': {} },
    },
  );
});

test('an optional package whose name says no machine is an error', () => {
  assert.throws(
    () => completed({ packages: { 'node_modules/tool': { optionalDependencies: { '@tool/extra': '1.0.0' } } } }),
    {
      message: 'The optional package @tool/extra does not say what machine it is for',
    },
  );
});

test('the packages of the checkout that a manifest links to are found', () => {
  const manifest = {
    dependencies: { yaml: '2.9.1' },
    devDependencies: { '@platform-run/worker': 'file:packages/worker' },
  };
  assert.deepEqual(linkedFolders(JSON.stringify(manifest)), ['packages/worker']);
});
