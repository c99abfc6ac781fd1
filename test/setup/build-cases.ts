// What the steps of a build decide, run and say, from a commit to the artifact. Its commands run in this process in
// test/integration/builds/, and confined, with the real npm, in test/builds/.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Manifest } from '#core/manifest.ts';
import { openBuildPlace, WORKER, type BuildPlace, type BuildWishes, type BuiltPlace } from './confined-builds.ts';

/** How they build. */
export interface BuildCase {
  /** A place for sources. */
  open(t: TestContext): BuildPlace;
  /** Builds what a place holds. */
  build(place: BuildPlace, wishes?: BuildWishes): Promise<BuiltPlace>;
}

/** A package in the repository, so that nothing is fetched. */
export const LOCAL_PACKAGE = {
  'package.json': JSON.stringify({ name: 'shop', dependencies: { words: 'file:libs/words' } }),
  'libs/words/package.json': JSON.stringify({ name: 'words', version: '1.0.0', main: 'index.js' }),
  'libs/words/index.js': 'module.exports = { greeting: "from a package" };\n',
  'src/index.ts': 'import { greeting } from "words"; export default { fetch: () => new Response(greeting) };\n',
};

/** Their package-lock.json. */
export const LOCAL_LOCK = JSON.stringify({
  name: 'shop',
  lockfileVersion: 3,
  packages: {
    '': { name: 'shop', dependencies: { words: 'file:libs/words' } },
    'libs/words': { version: '1.0.0' },
    'node_modules/words': { resolved: 'libs/words', link: true },
  },
});

/** Names in a tar file, as the system's program reads them. */
function archiveNames(file: string): string[] {
  return execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).split('\n').filter(Boolean);
}

function manifestOf(place: BuildPlace, id: string): Manifest {
  return JSON.parse(readFileSync(join(place.artifacts, id, 'manifest.json'), 'utf8')) as Manifest;
}

/** Builds in which programs matter: package managers, what they install, what they leave. */
export function commandCases({ open, build }: BuildCase): void {
  test('a worker becomes an artifact, the same for the same commit', async (t) => {
    const place = openBuildPlace(t);
    const hash = place.commit(WORKER, 'Say hello\n\nMore of it');
    const first = await build(place);
    assert.deepEqual(first.result?.commit, { sha: hash, message: 'Say hello', author: 'Ada' });
    assert.equal(first.result.name, 'shop');
    assert.equal(first.result.kind, 'dynamic');
    assert.deepEqual(first.steps, ['clone', 'install', 'build', 'artifact']);
    assert.deepEqual(place.leftOver(), []);
    const again = await build(place, { commit: hash });
    assert.equal(again.result?.artifactId, first.result.artifactId);
  });

  test('a Node server becomes an archive with what it needs in production, the same for the same files', async (t) => {
    const place = open(t);
    place.commit({
      'package.json': JSON.stringify({
        dependencies: { words: 'file:libs/words' },
        devDependencies: { tools: 'file:libs/tools' },
        scripts: { start: 'node server.js', build: 'mkdir -p public && echo made > public/made.txt' },
      }),
      'server.js': 'require("words")',
      'libs/words/package.json': '{"name":"words","version":"1.0.0"}',
      'libs/tools/package.json': '{"name":"tools","version":"1.0.0"}',
      '.env': 'SECRET=1',
      'platform.yaml': 'kind: ssr\n',
    });
    const { result, failure, log } = await build(place);
    assert.equal(failure, null, `${failure?.message}\n${log}`);
    const { kind, server, worker, assets } = manifestOf(place, result!.artifactId);
    assert.deepEqual([kind, server?.start, server?.folder], ['ssr', 'node server.js', '']);
    assert.ok(worker !== null, 'its calls of bindings have no worker');
    assert.deepEqual(Object.keys(assets?.files ?? {}), ['made.txt']);
    const names = archiveNames(join(result!.folder, 'server.tar'));
    assert.ok(names.includes('server.js') && names.some((name) => name.endsWith('words/package.json')));
    assert.ok(!names.includes('.env'));
    assert.ok(!names.includes('node_modules/tools/package.json') && !names.includes('node_modules/tools'));
    const again = await build(place);
    assert.equal(again.result?.artifactId, result!.artifactId);
  });

  test('a framework that only the library knows is built by its command', async (t) => {
    const place = open(t);
    // The library knows Metalsmith by its package; its program is a script of ours.
    place.commit({
      'package.json': JSON.stringify({ dependencies: { metalsmith: 'file:metalsmith' } }),
      'metalsmith/package.json': '{"name":"metalsmith","version":"2.0.0","bin":"run.js"}',
      'metalsmith/run.js':
        '#!/usr/bin/env node\nconst fs=require("fs");fs.mkdirSync("build");fs.writeFileSync("build/index.html","made");\n',
    });
    const { result, log, failure } = await build(place);
    assert.equal(failure, null, `${failure?.message}\n${log}`);
    assert.match(log, /Detected Metalsmith \(by @netlify\/build-info\)/);
    assert.match(log, /Build command: metalsmith \(what Metalsmith is built with\)/);
    assert.equal(readFileSync(join(result!.folder, 'assets/index.html'), 'utf8'), 'made');
  });

  test('dependencies are installed by the lockfile, and their caches kept by its hash', async (t) => {
    const place = open(t);
    place.commit({ ...WORKER, ...LOCAL_PACKAGE });
    const settings = {
      buildCommand: null,
      outputDirectory: null,
      installCommand:
        'npm install && mkdir -p $npm_config_cache && echo of-this-project > $npm_config_cache/downloaded',
    };
    const first = await build(place, { settings });
    assert.equal(first.failure, null, `${first.failure?.message}\n${first.log}`);
    assert.match(first.log, /No packages are cached yet/);
    assert.match(first.log, /Cached \d+ files of packages/);
    assert.ok(readFileSync(join(first.result!.folder, 'worker.js'), 'utf8').includes('from a package'));
    const reads = { ...settings, installCommand: 'npm install; cat $npm_config_cache/downloaded' };
    const second = await build(place, { settings: reads });
    assert.match(second.log, /Using cached packages of this lockfile/);
    assert.match(second.log, /of-this-project/);
    // A fork neither reads nor writes them.
    const kept = readdirSync(place.cache);
    const fork = await build(place, {
      settings: {
        ...settings,
        installCommand: 'npm install; cat $npm_config_cache/downloaded; echo evil > $npm_config_cache/x',
      },
      isFork: true,
    });
    assert.doesNotMatch(fork.log, /of-this-project/);
    assert.deepEqual(readdirSync(place.cache), kept);
    // One that fails writes nothing.
    rmSync(join(place.cache, kept[0]!), { recursive: true });
    const fails = { ...settings, buildCommand: 'exit 3' };
    place.commit({ ...WORKER, ...LOCAL_PACKAGE, 'x.txt': 'x' });
    assert.equal((await build(place, { settings: fails })).failure?.reason, 'build_failed');
    assert.deepEqual(readdirSync(place.cache), []);
  });

  test('npm ci runs where there is a lockfile, and says what is wrong with one that does not fit', async (t) => {
    const place = open(t);
    place.commit({ ...WORKER, ...LOCAL_PACKAGE, 'package-lock.json': LOCAL_LOCK });
    const { result, log } = await build(place);
    assert.equal(result?.kind, 'dynamic', log);
    assert.match(log, /Package manager: npm \(there is a package-lock.json\)/);
    assert.match(log, /\$ npm ci --include=dev/);
    place.commit({
      ...WORKER,
      ...LOCAL_PACKAGE,
      'package-lock.json': '{"name":"shop","lockfileVersion":3,"packages":{}}',
    });
    const { failure } = await build(place);
    assert.equal(failure?.reason, 'install_failed');
    assert.match(failure.message, /package-lock.json does not fit package.json. Run npm install and commit both/);
  });

  test('in a monorepo dependencies are installed at its root, and the build runs in base', async (t) => {
    const place = open(t);
    place.commit({
      'package.json': '{"private":true,"workspaces":["apps/*","libs/*"]}',
      'libs/words/package.json': '{"name":"words","version":"1.0.0","main":"index.js"}',
      'libs/words/index.js': 'module.exports = "of the workspace";',
      'apps/web/package.json': '{"name":"web","dependencies":{"words":"*"}}',
      'apps/web/platform.yaml':
        'kind: static\nbase: apps/web\nbuild: pwd; mkdir out; node -p "require(\'words\')" > out/index.html\nout: out\n',
      'apps/api/platform.yaml': 'kind: worker\n',
      'apps/api/src/index.ts': WORKER['src/index.ts']!,
    });
    const web = await build(place, { configPath: 'apps/web' });
    assert.equal(web.failure, null, `${web.failure?.message}\n${web.log}`);
    assert.match(web.log, /Monorepo \(apps\/api\/platform.yaml, apps\/web\/platform.yaml, package.json\)/);
    assert.match(web.log, /source\/apps\/web$/m);
    assert.equal(readFileSync(join(web.result!.folder, 'assets/index.html'), 'utf8').trim(), 'of the workspace');
    const api = await build(place, { configPath: 'apps/api/platform.yaml' });
    assert.equal(manifestOf(place, api.result!.artifactId).kind, 'dynamic');
  });

  test('in a monorepo with Turborepo the packages that a project uses are built before it', async (t) => {
    const place = open(t);
    // What it is told of the real one: the packages that web needs, without web.
    const turbo = `#!/bin/sh\ntest "$*" = "run build --filter=@acme/web^..." && cd ../../libs/ui && npm run build\n`;
    place.commit({
      'package.json': JSON.stringify({
        private: true,
        workspaces: ['apps/*', 'libs/*'],
        devDependencies: { turbo: 'file:tools/turbo' },
      }),
      'turbo.json': '{ "tasks": { "build": { "dependsOn": ["^build"] } } }',
      'tools/turbo/package.json': '{"name":"turbo","version":"2.0.0","bin":"turbo"}',
      'tools/turbo/turbo': turbo,
      'libs/ui/package.json':
        '{"name":"@acme/ui","version":"1.0.0","scripts":{"build":"echo the library > built.html"}}',
      'apps/web/package.json': JSON.stringify({
        name: '@acme/web',
        version: '1.0.0',
        scripts: { build: 'mkdir dist && cp ../../libs/ui/built.html dist/index.html' },
        dependencies: { '@acme/ui': '*' },
      }),
    });
    const { result, failure, log } = await build(place, { configPath: 'apps/web' });
    assert.equal(failure, null, `${failure?.message}\n${log}`);
    assert.match(log, /^.*\$ turbo run build --filter=@acme\/web\^\.\.\. && npm run build$/m);
    assert.equal(readFileSync(join(result!.folder, 'assets/index.html'), 'utf8').trim(), 'the library');
  });
}

/** Builds in which a decision matters. */
export function decisionCases({ open, build }: BuildCase): void {
  test('a commit that is not the newest is built as it was', async (t) => {
    const place = openBuildPlace(t);
    const old = place.commit(WORKER);
    place.commit({ ...WORKER, 'src/index.ts': 'export default { fetch: () => new Response("new") };' });
    const { result } = await build(place, { commit: old });
    assert.ok(readFileSync(join(result!.folder, 'worker.js'), 'utf8').includes('hello'));
  });

  test('platform.yaml goes before settings, settings before what is detected', async (t) => {
    const place = open(t);
    const make = (name: string): string => `mkdir -p ${name} && echo ${name} > ${name}/index.html`;
    const manifest = JSON.stringify({ scripts: { build: make('dist') } });
    const pageOf = async (files: Record<string, string>, settings: Record<string, string>) => {
      place.commit({ 'package.json': manifest, 'index.ts': '', ...files });
      const all = { buildCommand: null, outputDirectory: null, installCommand: null, ...settings };
      const { result, failure, log } = await build(place, { settings: all });
      assert.equal(failure, null, `${failure?.message}\n${log}`);
      return [readFileSync(join(result!.folder, 'assets/index.html'), 'utf8').trim(), log] as const;
    };
    const [detected, detectedLog] = await pageOf({}, {});
    assert.equal(detected, 'dist');
    assert.match(detectedLog, /Build command: npm run build \(package.json has a script "build"\)/);
    const settings = { buildCommand: make('fromsettings'), outputDirectory: 'fromsettings' };
    const [set, setLog] = await pageOf({}, settings);
    assert.equal(set, 'fromsettings');
    assert.match(setLog, /Output folder: fromsettings \(settings of the project\)/);
    const yaml = `kind: static\nbuild: ${make('fromyaml')}\nout: fromyaml\n`;
    const [written, writtenLog] = await pageOf({ 'platform.yaml': yaml }, settings);
    assert.equal(written, 'fromyaml');
    assert.match(writtenLog, /The build command in the settings of the project is overridden by platform.yaml/);
  });

  for (const [what, yaml, message] of [
    ['static without build', 'kind: static\n', "Build command is required when kind is 'static'"],
    ['an absolute out', 'out: /etc\n', 'Out path must be relative, not absolute'],
    ['out with ..', 'out: ../x\n', "Out path cannot contain '..'"],
    ['an absolute base', 'base: /etc\n', 'Base path must be relative, not absolute'],
    ['no YAML', 'kind: [\n', 'platform.yaml:'],
    ['a base that is not there', 'base: apps/none\n', 'there is no folder apps/none'],
  ] as const)
    test(`a configuration with ${what} ends the build with its message`, async (t) => {
      const place = open(t);
      place.commit({ ...WORKER, 'platform.yaml': yaml });
      const { failure } = await build(place);
      assert.equal(failure?.reason, 'configuration_invalid');
      assert.ok(failure.message.includes(message), failure.message);
    });

  test('an output directory of the settings that leads out is refused by the rule of platform.yaml', async (t) => {
    const place = open(t);
    place.commit(WORKER);
    const settings = { buildCommand: null, outputDirectory: '../../etc', installCommand: null };
    const { failure } = await build(place, { settings });
    assert.equal(failure?.reason, 'configuration_invalid');
    assert.match(failure.message, /Out path cannot contain '\.\.'/);
  });

  test('a server that nothing starts is refused with what to add', async (t) => {
    const place = open(t);
    place.commit({ 'platform.yaml': 'kind: ssr\n', 'server.js': '' });
    const { failure } = await build(place);
    assert.match(failure?.message ?? '', /add a script "start" to package\.json/);
  });

  test('a server is refused before anything is installed or run, where the platform could not fence it', async (t) => {
    const place = open(t);
    const scripts = { build: 'echo was run', start: 'node server.js' };
    place.commit({
      'package.json': JSON.stringify({ dependencies: { next: '16.0.0' }, scripts }),
      'next.config.js': '',
    });
    const { failure, log } = await build(place, { noServers: 'Servers for Node are refused here: no fence' });
    assert.deepEqual(
      [failure?.reason, failure?.message],
      ['servers_refused', 'Servers for Node are refused here: no fence'],
      log,
    );
    assert.doesNotMatch(log, /was run|^\[install/m);
  });

  test('a framework that made no worker is named with what works instead', async (t) => {
    const place = open(t);
    const script = 'mkdir -p .output/other && echo x > .output/other/index.mjs';
    // A local package by its name: nothing is fetched.
    place.commit({
      'package.json': JSON.stringify({ dependencies: { nuxt: 'file:nuxt' }, scripts: { build: script } }),
      'nuxt/package.json': '{"name":"nuxt","version":"4.0.0"}',
    });
    const { failure, log } = await build(place);
    assert.equal(failure?.reason, 'not_supported', log);
    assert.match(failure.message, /made no worker of this Nuxt project.*leave "nitro.preset" out of nuxt.config/);
  });

  test('the files of a monorepo that platform-workspace.yaml excludes do not count', async (t) => {
    const place = open(t);
    const files = { ...WORKER, 'examples/a/platform.yaml': 'kind: worker\n' };
    place.commit(files);
    assert.match((await build(place)).log, /Monorepo/);
    place.commit({ ...files, 'platform-workspace.yaml': 'exclude: ["examples/*"]\n' });
    assert.doesNotMatch((await build(place)).log, /Monorepo/);
  });

  test('tools and types alone are not installed for a bundle', async (t) => {
    const place = open(t);
    place.commit({
      ...WORKER,
      'package.json': JSON.stringify({
        scripts: { build: 'platform build' },
        devDependencies: { '@platform-run/cli': 'latest', typescript: '7.0.2', '@types/node': '24' },
      }),
    });
    const { result, log } = await build(place);
    assert.equal(result?.kind, 'dynamic', log);
    assert.match(log, /Nothing to install: package.json has only types and tools/);
  });

  test('a failing command ends the build with its last lines', async (t) => {
    const place = open(t);
    place.commit({ ...WORKER, 'platform.yaml': 'kind: worker\nbuild: echo about to fail; exit 7\n' });
    const { failure } = await build(place);
    assert.equal(failure?.reason, 'build_failed');
    assert.match(failure.message, /ended with exit code 7:\nabout to fail/);
  });

  test('what the repository holds counts as made, though the command leaves it as it is', async (t) => {
    const place = open(t);
    place.commit({
      'platform.yaml': 'kind: static\nbuild: echo nothing to do\nout: dist\n',
      'dist/index.html': 'as it is',
    });
    const { result, log } = await build(place);
    assert.equal(readFileSync(join(result!.folder, 'assets/index.html'), 'utf8'), 'as it is', log);
  });

  test('a build that is canceled before it begins leaves nothing', async (t) => {
    const place = open(t);
    place.commit(WORKER);
    const signal = AbortSignal.abort(new Error('superseded'));
    await assert.rejects(build(place, { signal }), { message: 'superseded' });
    assert.deepEqual(place.leftOver(), []);
  });
}
