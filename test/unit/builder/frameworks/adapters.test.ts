// builder/frameworks/adapters.ts: how a build is told of the platform's adapters, and what of it is taken.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { build } from '#builder/build/build.ts';
import { adapterVariables, assetsBinding, clearAdapted, findAdapted } from '#builder/frameworks/adapters.ts';
import { configOf, projectFolder, writeFiles } from '../project-folder.ts';

const worker = 'export default { fetch: () => new Response("made") };';
const made = { '.platform/output/server/index.mjs': worker, '.platform/output/public/a.txt': 'a' };

/** A build command as a framework would be: writes where its preset says, here always to the same place. */
const framework = `
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
if (!existsSync(process.env.NITRO_PRESET + '/nitro.config.mjs')) throw new Error('no preset');
mkdirSync('.platform/output/server', { recursive: true });
mkdirSync('.platform/output/public');
writeFileSync('.platform/output/server/index.mjs', ${JSON.stringify(worker)});
writeFileSync('.platform/output/public/new.txt', 'new');
`;

test('a build command is told where the preset of Nitro lies, and the project may say another one', (t) => {
  const root = projectFolder(t, {});
  const { NITRO_PRESET: folder, ...others } = adapterVariables(root, configOf('build: nuxt build'), { A: '1' });
  assert.ok(existsSync(join(folder!, 'nitro.config.mjs')));
  assert.deepEqual(others, { A: '1' });
  assert.deepEqual(adapterVariables(root, configOf('build: nuxt build'), { NITRO_PRESET: 'own' }), {
    NITRO_PRESET: 'own',
  });
});

for (const line of ['main: x.mjs', 'out: dist', 'kind: static']) {
  test(`a project that says ${line} builds and is read without adapters`, (t) => {
    const config = configOf(`build: nuxt build\n${line}`);
    const root = projectFolder(t, made);
    assert.deepEqual(adapterVariables(root, config, { A: '1' }), { A: '1' });
    assert.equal(findAdapted(root, config), null);
  });
}

test('what a build makes with an adapter becomes worker and assets, and nothing of an earlier one is left', async (t) => {
  const root = projectFolder(t, { 'make.mjs': framework, ...made, 'public/source.txt': 's', 'src/index.ts': 'x' });
  const { manifest, folder } = await build({
    root,
    config: configOf('build: node make.mjs'),
    artifacts: join(dirname(root), 'artifacts'),
  });
  assert.equal(manifest.kind, 'dynamic');
  assert.deepEqual(Object.keys(manifest.assets!.files), ['new.txt']);
  assert.match(readFileSync(join(folder, 'worker.js'), 'utf8'), /new Response\("made"\)/);
});

test('a build that makes no worker is read as one without adapters', async (t) => {
  const root = projectFolder(t, { ...made, 'index.html': '<p>page' });
  const { manifest } = await build({
    root,
    config: configOf('build: mkdir dist && cp index.html dist/'),
    artifacts: join(dirname(root), 'artifacts'),
  });
  assert.equal(manifest.kind, 'static');
});

test('a worker that an adapter made finds its files as ASSETS, unless platform.yaml says otherwise', (t) => {
  const root = projectFolder(t, made);
  const binding = (yaml: string): string | null => assetsBinding(root, configOf(yaml));
  assert.equal(binding('build: x'), 'ASSETS');
  assert.equal(binding('build: x\nassets: { binding: FILES }'), 'FILES');
  assert.equal(binding('build: x\nqueue: { ASSETS: mail }'), null);
  assert.equal(binding('build: x\nout: dist'), null);
});

test('a worker without files has no assets', (t) => {
  const root = projectFolder(t, { '.platform/output/server/index.mjs': worker });
  assert.deepEqual(findAdapted(root, configOf('build: x')), {
    entry: '.platform/output/server/index.mjs',
    assets: null,
  });
});

test('nothing is read or deleted behind a link', (t) => {
  const root = projectFolder(t, {});
  const elsewhere = join(dirname(root), 'elsewhere');
  mkdirSync(elsewhere);
  writeFiles(elsewhere, { 'output/server/index.mjs': worker });
  symlinkSync(elsewhere, join(root, '.platform'));
  clearAdapted(root);
  assert.ok(existsSync(join(elsewhere, 'output/server/index.mjs')));
  assert.equal(findAdapted(root, configOf('build: x')), null);
});
