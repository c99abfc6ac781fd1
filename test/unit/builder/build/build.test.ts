// builder/build/build.ts: from a project folder to the artifact the handler reads.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Manifest } from '#core/manifest.ts';
import { build } from '#builder/build/build.ts';
import { hashOf } from '#core/artifact-id.ts';
import { configOf, projectFolder, writeFiles } from '../project-folder.ts';

const worker = 'export default { fetch: () => new Response("x") };';

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
}

test('a worker without configuration is a dynamic artifact with the defaults', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': worker });
  const { folder, manifest } = await build({ root, config: configOf(), artifacts: join(root, 'artifacts') });
  const code = readFileSync(join(folder, 'worker.js'), 'utf8');
  const map = readFileSync(join(folder, 'worker.js.map'), 'utf8');
  assert.deepEqual(manifestIn(folder), manifest);
  assert.deepEqual(manifest, {
    version: 1,
    kind: 'dynamic',
    worker: { hash: hashOf(code), bytes: code.length, mapHash: hashOf(map) },
    compatibilityDate: '2025-04-02',
    compatibilityFlags: [],
    assets: null,
    bindings: {},
    cron: {},
    ai: false,
    skewProtection: true,
  });
});

test('everything the handler needs of platform.yaml is in the manifest', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': worker, 'site/index.html': 'home' });
  const { manifest } = await build({
    root,
    artifacts: join(root, 'artifacts'),
    config: configOf(`
kind: worker
out: site
assets: { binding: ASSETS, not_found_handling: single-page-application, run_worker_first: [/api/*] }
compatibility_date: "2026-01-31"
compatibility_flags: [nodejs_compat]
db: { DB: users }
queue: { MAIL: { name: mail, max_retries: 1 }, PLAIN: plain }
state: { KV: cache }
cron: { NIGHTLY: 0 3 * * *, OFTEN: { schedule: '* * * * *', overlap: queue } }
ai: true
skew_protection: false
`),
  });
  assert.deepEqual(
    { ...manifest, worker: null },
    {
      version: 1,
      kind: 'dynamic',
      worker: null,
      compatibilityDate: '2026-01-31',
      compatibilityFlags: ['nodejs_compat'],
      assets: {
        binding: 'ASSETS',
        notFoundHandling: 'single-page-application',
        runWorkerFirst: ['/api/*'],
        files: { 'index.html': { hash: hashOf('home'), bytes: 4, type: 'text/html; charset=utf-8' } },
      },
      bindings: { db: { DB: 'users' }, queue: { MAIL: 'mail', PLAIN: 'plain' }, state: { KV: 'cache' } },
      queues: { mail: { maxRetries: 1 } },
      cron: {
        NIGHTLY: { schedule: '0 3 * * *', timezone: 'UTC' },
        OFTEN: { schedule: '* * * * *', timezone: 'UTC', overlap: 'queue' },
      },
      ai: true,
      skewProtection: false,
    },
  );
});

test('the same sources give the same id, also from another folder; a change gives another', async (t) => {
  const root = projectFolder(t, {
    'index.ts': 'import p from "path"; export default { fetch: () => new Response(p.sep) };',
    'public/a.txt': 'a',
  });
  const copy = join(root, '../copy');
  cpSync(root, copy, { recursive: true });
  const artifacts = join(root, '../artifacts');
  const config = configOf('main: index.ts');
  const first = await build({ root, config, artifacts });
  assert.equal((await build({ root, config, artifacts })).id, first.id);
  assert.equal((await build({ root: copy, config, artifacts })).id, first.id);
  assert.deepEqual(readdirSync(artifacts), [first.id]);
  writeFiles(copy, { 'public/a.txt': 'b' });
  assert.notEqual((await build({ root: copy, config, artifacts })).id, first.id);
});

test('public beside a worker is its assets folder', async (t) => {
  const root = projectFolder(t, { 'worker/index.js': worker, 'public/a.txt': 'a' });
  const { folder } = await build({ root, config: configOf(), artifacts: join(root, 'artifacts') });
  assert.equal(readFileSync(join(folder, 'assets/a.txt'), 'utf8'), 'a');
});

test('pages for errors are HTML files of the output, by their keys in the manifest', async (t) => {
  const files = { 'worker/index.js': worker, 'public/500.html': 'sorry', 'public/a.txt': 'a' };
  const root = projectFolder(t, files);
  const make = (pages: string) =>
    build({ root, config: configOf(`assets: { error_pages: { ${pages} } }`), artifacts: join(root, '../artifacts') });
  const { manifest } = await make('500: /500.html');
  assert.deepEqual(manifest.assets?.errorPages, { 500: '500.html' });
  await assert.rejects(make('500: /none.html'), {
    code: 'assets',
    message:
      'assets.error_pages.500 in platform.yaml: the output has no file /none.html. Create the file, or change the path',
  });
  await assert.rejects(make('404: /a.txt'), {
    code: 'assets',
    message: 'assets.error_pages.404 in platform.yaml: /a.txt is not an HTML file (text/plain; charset=utf-8)',
  });
});

test('a folder with an index.html is served as it lies, without its configuration', async (t) => {
  const root = projectFolder(t, { 'index.html': 'home', 'platform.yaml': 'name: x' });
  const { manifest } = await build({ root, config: configOf(), artifacts: join(root, '../artifacts') });
  assert.equal(manifest.kind, 'static');
  assert.equal(manifest.worker, null);
  assert.deepEqual(Object.keys(manifest.assets?.files ?? {}), ['index.html']);
  assert.equal(manifest.assets?.notFoundHandling, '404-page');
});

test('`assets` without `not_found_handling` keeps the default: 404.html for a site, none with a worker', async (t) => {
  const handlingOf = async (files: Record<string, string>): Promise<string | undefined> => {
    const root = projectFolder(t, files);
    const config = configOf('assets: { error_pages: { 404: /404.html } }\n');
    const { manifest } = await build({ root, config, artifacts: join(root, '../artifacts') });
    return manifest.assets?.notFoundHandling;
  };
  assert.equal(await handlingOf({ 'index.html': 'home', '404.html': 'none' }), '404-page');
  assert.equal(await handlingOf({ 'worker/index.js': worker, 'public/404.html': 'none' }), 'none');
});

test('of a site with one page and a router it is said that links into it answer 404, where nothing else is written', async (t) => {
  const spa = {
    binding: null,
    notFoundHandling: 'single-page-application',
    runWorkerFirst: false,
    errorPages: {},
  } as const;
  for (const [files, assets, warnings] of [
    [
      { 'index.html': 'home', 'package.json': '{"dependencies":{"vue-router":"4"}}' },
      null,
      [
        'The site has one page and uses vue-router: a link to any other path answers 404. To serve index.html for such links, add this to platform.yaml:\nassets:\n  not_found_handling: single-page-application',
      ],
    ],
    [{ 'index.html': 'home', 'package.json': '{"dependencies":{"vue-router":"4"}}' }, spa, []],
    [{ 'index.html': 'home', 'about.html': '', 'package.json': '{"dependencies":{"wouter":"3"}}' }, null, []],
    [{ 'index.html': 'home', 'package.json': '{"dependencies":{"vue":"3"}}' }, null, []],
    [{ 'index.html': 'home', 'package.json': '{' }, null, []],
  ] as const) {
    const said: string[] = [];
    const root = projectFolder(t, files);
    const options = { root, config: { ...configOf(), assets }, artifacts: join(root, '../artifacts') };
    await build({ ...options, onWarning: (text) => said.push(text) });
    assert.deepEqual(said, warnings);
  }
});

test('a static project runs its build command, whose output is streamed and whose result is served', async (t) => {
  const root = projectFolder(t, { 'page.txt': 'built' });
  const output: string[] = [];
  process.env['BUILD_TEST_SECRET'] = 'platform';
  t.after(() => delete process.env['BUILD_TEST_SECRET']);
  const { folder } = await build({
    root,
    config: {
      ...configOf(),
      kind: 'static',
      build:
        'echo working; echo trouble >&2; mkdir dist; cp page.txt dist/; echo "$BUILD_TEST_SECRET-$NODE_ENV-$OWN" > dist/env',
      out: 'dist',
    },
    artifacts: join(root, 'artifacts'),
    onOutput: (text) => output.push(text),
    environment: { OWN: 'mine' },
  });
  assert.equal(readFileSync(join(folder, 'assets/page.txt'), 'utf8'), 'built');
  assert.equal(readFileSync(join(folder, 'assets/env'), 'utf8'), '-production-mine\n');
  assert.match(output.join(''), /working\n/);
  assert.match(output.join(''), /trouble\n/);
});

test('a build command that fails ends the build with its last words', async (t) => {
  const root = projectFolder(t, {});
  const command = `printf '\\033[31mno such thing\\033[39m\\n' >&2; exit 3`;
  const artifacts = join(root, 'artifacts');
  await assert.rejects(
    build({
      root,
      config: { ...configOf(), kind: 'static', build: command, out: 'dist' },
      artifacts,
    }),
    {
      code: 'command_failed',
      message: `The build command "${command}" ended with exit code 3:\nno such thing`,
    },
  );
  await assert.rejects(
    build({ root, config: { ...configOf(), kind: 'static', build: 'kill -9 $$', out: 'dist' }, artifacts }),
    {
      message: 'The build command "kill -9 $$" was ended by SIGKILL',
    },
  );
  assert.equal(existsSync(artifacts), false);
});

test('an output directory that does not exist after the build is named', async (t) => {
  const root = projectFolder(t, {});
  await assert.rejects(
    build({ root, config: { ...configOf(), kind: 'static', build: 'true', out: 'dist' }, artifacts: root }),
    {
      code: 'assets',
      message: 'The output directory "dist" does not exist; the build command "true" should create it',
    },
  );
});

test('an output directory that leads out of the project is refused', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': worker });
  await assert.rejects(build({ root, config: { ...configOf(), out: '../' }, artifacts: root }), {
    code: 'assets',
    message: 'The output directory "../" is outside the project',
  });
});

test('a failed build writes nothing', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': 'export default {' });
  await assert.rejects(build({ root, config: configOf(), artifacts: join(root, 'artifacts') }), { code: 'syntax' });
  assert.equal(existsSync(join(root, 'artifacts')), false);
});

test('bundle and assets together may not be over the bound', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': worker, 'public/a.txt': 'x'.repeat(900) });
  await assert.rejects(
    build({
      root,
      config: configOf(),
      artifacts: root,
      limits: { artifactBytesMax: 1000, artifactFilesMax: 10, bundleBytesMax: 1_000_000 },
    }),
    {
      code: 'too_large',
      message: /^The artifact has \d{4} bytes; BUILD_ARTIFACT_MAX_BYTES allows 1000$/,
    },
  );
});

test('a project folder that does not exist is named', async () => {
  await assert.rejects(build({ root: '/nowhere/at/all', config: configOf(), artifacts: '/nowhere' }), {
    message: 'The project folder /nowhere/at/all does not exist',
  });
});
