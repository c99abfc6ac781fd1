// builder/frameworks/resolve-config.ts: platform.yaml overrides project settings, which override detected ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detect } from '#builder/frameworks/detect.ts';
import { filesOf } from '#test/setup/project-files.ts';
import { resolveConfig } from '#builder/frameworks/resolve-config.ts';
import { configOf } from '../project-folder.ts';
import { manifest } from './starters/starter.ts';

const detected = detect(
  filesOf({
    'package.json': manifest({ astro: '7.3.5' }, { build: 'astro build' }),
    'astro.config.mjs': 'export default defineConfig({});',
  }),
);
const settings = { build: 'make site', out: 'made' };
const none = { build: null, out: null };

test('without anything else, what the files show is what is done', () => {
  const { config, said } = resolveConfig(configOf(), none, detected);
  assert.deepEqual([config.kind, config.build, config.out], ['static', 'npm run build', null]);
  assert.deepEqual(said, [
    'Detected Astro 7.3.5 (from its package.json and files)',
    'Kind: static (astro.config has no adapter)',
    'Build command: npm run build (package.json has a script "build")',
  ]);
});

test('settings of the project go before what the files show', () => {
  const { config, said } = resolveConfig(configOf(), settings, detected);
  assert.deepEqual([config.kind, config.build, config.out], ['static', 'make site', 'made']);
  assert.deepEqual(said.slice(2), [
    'Build command: make site (settings of the project)',
    'Output folder: made (settings of the project)',
  ]);
});

test('platform.yaml goes before both, and what it overrides is said', () => {
  const { config, said } = resolveConfig(configOf('kind: ssr\nbuild: npm run all\nout: site'), settings, detected);
  assert.deepEqual([config.kind, config.build, config.out], ['ssr', 'npm run all', 'site']);
  assert.deepEqual(said.slice(1), [
    'Build command: npm run all (platform.yaml)',
    'The build command in the settings of the project is overridden by platform.yaml',
    'Output folder: site (platform.yaml)',
    'The output directory in the settings of the project is overridden by platform.yaml',
  ]);
});

test('what keeps a project from being built is said, unless platform.yaml decides what it is', () => {
  const rivals = detect(filesOf({ 'package.json': manifest({ astro: '7.3.5', gatsby: '5.15.0' }) }));
  assert.throws(() => resolveConfig(configOf(), none, rivals), {
    code: 'not_supported',
    message: /^There are 2 frameworks/,
  });
  assert.equal(resolveConfig(configOf('kind: static\nbuild: gatsby build'), none, rivals).config.build, 'gatsby build');
});
