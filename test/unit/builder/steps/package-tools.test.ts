import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { managerOf, runCommand } from '#builder/frameworks/packages.ts';
import { findManager, installCommand } from '#builder/steps/package-tools.ts';

test('the manager is that of packageManager, then of the lockfile, then npm', () => {
  assert.equal(managerOf(['package-lock.json'], '{"packageManager":"pnpm@9.1.0+sha512.abc"}').name, 'pnpm');
  assert.deepEqual(managerOf(['pnpm-lock.yaml'], '{"packageManager":"pnpm@9.1.0+sha512.abc"}'), {
    name: 'pnpm',
    version: '9.1.0',
    lockfile: 'pnpm-lock.yaml',
    because: 'package.json names it',
  });
  for (const [file, name] of [
    ['package-lock.json', 'npm'],
    ['npm-shrinkwrap.json', 'npm'],
    ['pnpm-lock.yaml', 'pnpm'],
    ['yarn.lock', 'yarn'],
    ['bun.lock', 'bun'],
    ['bun.lockb', 'bun'],
  ] as const)
    assert.deepEqual(managerOf([file], '{}'), { name, version: null, lockfile: file, because: `there is a ${file}` });
  assert.equal(managerOf([], null).name, 'npm');
  for (const strange of ['"x', '{"packageManager":7}', '{"packageManager":"rm -rf /"}', '{"packageManager":"npm; x"}'])
    assert.equal(managerOf([], strange).version, null);
});

test('what is installed is what the lockfile says, tools for the build included', () => {
  const command = (file: string | null, manifest = '{}', isNew = false): string =>
    installCommand(managerOf(file === null ? [] : [file], manifest), isNew);
  assert.equal(command('package-lock.json'), 'npm ci --include=dev');
  assert.equal(command(null), 'npm install --include=dev');
  assert.equal(command('pnpm-lock.yaml'), 'pnpm install --prod=false --frozen-lockfile');
  assert.equal(command('yarn.lock'), 'yarn install --production=false --non-interactive --frozen-lockfile');
  assert.equal(command('yarn.lock', '{}', true), 'yarn install --immutable');
  assert.equal(command('yarn.lock', '{"packageManager":"yarn@4.1.0"}'), 'yarn install --immutable');
  assert.equal(command('bun.lock'), 'bun install --frozen-lockfile');
  assert.equal(runCommand(managerOf(['yarn.lock'], null), 'build'), 'yarn build');
  assert.equal(runCommand(managerOf([], null), 'build'), 'npm run build');
});

test('a manager is found, fetched by corepack, or asked for', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'package-tools-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const program = (name: string): void => {
    mkdirSync(join(folder, `lib/node_modules/${name}/bin`), { recursive: true });
    writeFileSync(join(folder, `lib/node_modules/${name}/bin/${name}.js`), '#!/usr/bin/env node\n');
    chmodSync(join(folder, `lib/node_modules/${name}/bin/${name}.js`), 0o755);
    mkdirSync(join(folder, 'bin'), { recursive: true });
    symlinkSync(`../lib/node_modules/${name}/bin/${name}.js`, join(folder, `bin/${name}`));
  };
  program('bun');
  const environment = { PATH: join(folder, 'bin') };
  const bun = await findManager(managerOf(['bun.lock'], null), environment);
  assert.deepEqual(bun.folders, [join(folder, 'bin')]);
  assert.deepEqual(bun.readable, [join(folder, 'lib/node_modules'), join(folder, 'bin/bun')]);
  program('corepack');
  const pnpm = await findManager(managerOf(['pnpm-lock.yaml'], '{"packageManager":"pnpm@9.1.0"}'), environment);
  assert.deepEqual(pnpm.shims, { pnpm: 'corepack pnpm@9.1.0' });
});
