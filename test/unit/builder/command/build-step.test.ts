// The build command runs for every kind before anything is looked for, and what it did not make is not published.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { build } from '#builder/build/build.ts';
import type { Artifact } from '#builder/build/artifact.ts';
import { configOf, projectFolder } from '../project-folder.ts';

const worker = 'export default { fetch: () => new Response("made") };';

function built(root: string, yaml: string): Promise<Artifact> {
  return build({ root, config: configOf(yaml), artifacts: join(root, '../artifacts'), durable: false });
}

function served({ manifest }: Artifact): string[] {
  return Object.keys(manifest.assets?.files ?? {});
}

/** A project whose command `sh make.sh` runs this script. */
function project(t: TestContext, script: string, files: Readonly<Record<string, string>> = {}): string {
  const put = 'put() { case "$1" in */*) mkdir -p "${1%/*}";; esac; printf %s "$2" > "$1"; }\n';
  return projectFolder(t, { 'make.sh': put + script, ...files });
}

for (const kind of ['kind: dynamic\n', 'kind: worker\n', '']) {
  test(`${kind.trim() || 'no kind'}: the entry and the files may be what the build command makes`, async (t) => {
    const root = project(t, `put dist/worker.js '${worker}'; put dist/client/index.html page`);
    const artifact = await built(root, `${kind}build: sh make.sh\nmain: dist/worker.js\nout: dist/client\n`);
    assert.equal(artifact.manifest.kind, 'dynamic');
    assert.match(readFileSync(join(artifact.folder, 'worker.js'), 'utf8'), /made/);
    assert.deepEqual(served(artifact), ['index.html']);
  });
}

test('a worker that is made into its output folder serves the other files of it', async (t) => {
  const root = project(
    t,
    `put out/_worker.js 'import "./chunks/a.js"; ${worker}'; put out/chunks/a.js 'globalThis.a = 1;'
     put out/index.html page; put out/app.js ""`,
  );
  assert.deepEqual(served(await built(root, 'kind: dynamic\nbuild: sh make.sh\nout: out\n')), ['app.js', 'index.html']);
});

test('without "out" the files beside a worker are those that the build command made', async (t) => {
  const root = project(t, 'put dist/index.html page', {
    'worker/index.ts': worker,
    'public/icon.svg': '',
    'index.html': 'source',
  });
  assert.deepEqual(served(await built(root, 'build: sh make.sh\n')), ['index.html']);
  const own = project(t, `put dist/worker.js '${worker}'`, { 'public/icon.svg': '' });
  assert.deepEqual(served(await built(own, 'build: sh make.sh\nmain: dist/worker.js\n')), ['icon.svg']);
});

const sites: readonly [made: string, files: Record<string, string>][] = [
  [
    'dist',
    { 'package.json': '{"devDependencies":{"vite":"8"},"scripts":{"build":"vite build"}}', 'index.html': 'source' },
  ],
  ['dist/shop/browser', { 'package.json': '{"dependencies":{"@angular/core":"22"}}' }],
  ['build', { 'package.json': '{"dependencies":{"react-scripts":"5"}}', 'public/index.html': 'template' }],
  ['out', { 'package.json': '{"dependencies":{"next":"16"}}', 'public/a.svg': '' }],
  ['.output/public', { 'package.json': '{"dependencies":{"nuxt":"4"}}' }],
  ['_site', { '_config.yml': '' }],
  ['public', { 'hugo.toml': '' }],
  ['site', { 'mkdocs.yml': '' }],
  ['build', {}],
];
for (const [made, files] of sites) {
  test(`a site whose build makes ${made} publishes that, and not its sources (${Object.keys(files).join(' ') || 'no framework'})`, async (t) => {
    const root = project(t, `put ${made}/index.html page; put ${made}/a/b.css ''`, files);
    for (const yaml of ['kind: static\n', '']) {
      const artifact = await built(root, `${yaml}build: sh make.sh\n`);
      assert.equal(artifact.manifest.kind, 'static');
      assert.deepEqual(
        served(artifact).filter((name) => name !== 'a.svg'),
        ['a/b.css', 'index.html'],
      );
    }
  });
}

test('a build that makes no page is told where it was looked for; the root is not published instead', async (t) => {
  const root = project(t, 'put elsewhere/index.html page', {
    'index.html': 'source',
    'package.json': '{"scripts":{"build":"x"}}',
  });
  await assert.rejects(built(root, 'kind: static\nbuild: sh make.sh\n'), {
    code: 'assets',
    message:
      'The build command "sh make.sh" created no folder with an index.html: looked for dist/client, build/client, .output/public, dist, build, out, _site, public, www. Set "out" in platform.yaml to the folder with the files to serve',
  });
});

for (const kind of ['static', 'dynamic']) {
  test(`${kind}: what an earlier build left is not published when the build fails or makes nothing`, async (t) => {
    const files = { 'dist/index.html': 'stale', 'src/index.ts': worker };
    const failing = project(t, 'exit 1', files);
    await assert.rejects(built(failing, `kind: ${kind}\nbuild: sh make.sh\nout: dist\n`), {
      code: 'command_failed',
    });
    for (const script of ['', 'put build/index.html elsewhere']) {
      const idle = project(t, script, files);
      await assert.rejects(built(idle, `kind: ${kind}\nbuild: sh make.sh\nout: dist\n`), {
        code: 'assets',
        message:
          /^The build command "sh make.sh" created no output: the files in "dist" are older and are not published\. /,
      });
      assert.equal(readFileSync(join(idle, 'dist/index.html'), 'utf8'), 'stale');
      assert.deepEqual(
        readdirSync(idle).filter((name) => name.startsWith('.')),
        [],
      );
      assert.equal(existsSync(join(idle, '../artifacts')), false);
    }
  });
}

test('a worker that an earlier build left is not published either', async (t) => {
  const root = project(t, '', { 'dist/worker.js': worker });
  await assert.rejects(built(root, 'build: sh make.sh\nmain: dist/worker.js\n'), {
    code: 'assets',
    message: /created no output: the files in "dist"/,
  });
});

test('without "out" a stale folder is not taken for the result', async (t) => {
  const root = project(t, '', { 'dist/index.html': 'stale' });
  await assert.rejects(built(root, 'kind: static\nbuild: sh make.sh\n'), {
    code: 'assets',
    message: /created no output: the files in "dist"/,
  });
});

test('a tool that makes only what is missing is asked again without what was there', async (t) => {
  const root = project(t, '[ -e dist/index.html ] || put dist/index.html fresh', {
    'dist/index.html': 'stale',
  });
  const { folder } = await built(root, 'kind: static\nbuild: sh make.sh\nout: dist\n');
  assert.equal(readFileSync(join(folder, 'assets/index.html'), 'utf8'), 'fresh');
  assert.deepEqual(readdirSync(root).sort(), ['dist', 'make.sh']);
});

test('files that people write beside a worker, or that Git keeps, are no stale output', async (t) => {
  const root = project(t, 'put src/made.ts ""', { 'public/a.txt': '', 'src/index.ts': worker });
  assert.deepEqual(served(await built(root, 'build: sh make.sh\nout: public\n')), ['a.txt']);
  const kept = project(t, '', { 'dist/index.html': 'committed' });
  const git = (...words: string[]) => execFileSync('git', ['-C', kept, ...words], { stdio: 'ignore' });
  git('init');
  git('add', '.');
  assert.deepEqual(served(await built(kept, 'kind: static\nbuild: sh make.sh\nout: dist\n')), ['index.html']);
});

test('build: "true" says that there is nothing to build', async (t) => {
  const root = projectFolder(t, { 'dist/index.html': 'page' });
  assert.deepEqual(served(await built(root, 'kind: static\nbuild: "true"\nout: dist\n')), ['index.html']);
  assert.deepEqual(served(await built(root, 'kind: static\nbuild: ":"\n')), ['index.html']);
});

test('a build that fails without node_modules says how to install', async (t) => {
  const root = projectFolder(t, { 'package.json': '{}', 'pnpm-lock.yaml': '' });
  await assert.rejects(built(root, 'kind: static\nbuild: no-such-tool\n'), {
    message: /no-such-tool.*not found\nDependencies are not installed: run pnpm install$/s,
  });
});
