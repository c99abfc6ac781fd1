// A build reads the project, its workspace and installed packages, and nothing else: each way to name another file is
// refused with its place, and no line of that file is shown.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { BuildError, formatBuildError } from '#builder/project/build-error.ts';
import { build } from '#builder/build/build.ts';
import { bundle } from '#builder/bundle/bundle.ts';
import { containmentOf } from '#builder/project/containment.ts';
import { configOf, projectFolder, writeFiles } from '../project-folder.ts';

const secret = 'SECRET-OF-A-NEIGHBOUR';

/** A project beside a folder with secrets; `{out}` in its files stands for that folder. */
function project(t: TestContext, files: Readonly<Record<string, string>>): { root: string; outside: string } {
  const root = projectFolder(t, {});
  const outside = join(dirname(root), 'outside');
  writeFiles(outside, {
    'secret.js': `export default '${secret}';`,
    'secret.json': `{"k":"${secret}"}`,
    passwd: `root:${secret}\n`,
    'a.sql': `select '${secret}'`,
    _headers: `${secret}\n`,
  });
  writeFiles(
    root,
    Object.fromEntries(Object.entries(files).map(([name, text]) => [name, text.replaceAll('{out}', outside)])),
  );
  return { root, outside };
}

async function refusal(work: Promise<unknown>): Promise<BuildError> {
  const error: unknown = await work.then(
    () => assert.fail('it is built'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof BuildError);
  const text = formatBuildError(error);
  assert.ok(!text.includes(secret), text);
  return error;
}

function bundled(root: string, workspace = root): Promise<{ code: string; map: string }> {
  return bundle({ root, workspace, entry: join(root, 'src/index.ts'), nodeCompat: true });
}

const uses = 'export default { fetch: () => new Response(String(x)) };';
const alone = 'export default { fetch: () => new Response() };';
const ways: readonly [title: string, source: string, specifier: string][] = [
  ['a relative path', `import x from '../../outside/secret.js';`, '../../outside/secret.js'],
  ['an absolute path', `import x from '{out}/secret.js';`, '{out}/secret.js'],
  ['a file: address', `import x from 'file://{out}/secret.js';`, 'file://{out}/secret.js'],
  ['?raw', `import x from '../../outside/passwd?raw';`, '../../outside/passwd'],
  ['a text attribute', `import x from '../../outside/passwd' with { type: 'text' };`, '../../outside/passwd'],
  ['a bytes attribute', `import x from '../../outside/passwd' with { type: 'bytes' };`, '../../outside/passwd'],
  ['a file that is no JavaScript', `import x from '../../outside/passwd';`, '../../outside/passwd'],
  ['JSON', `import x from '../../outside/secret.json';`, '../../outside/secret.json'],
  ['require', `const x = require('../../outside/secret.js');`, '../../outside/secret.js'],
  ['a dynamic import', `const x = () => import('../../outside/secret.js');`, '../../outside/secret.js'],
  ['a re-export', `export * from '../../outside/secret.js'; const x = 1;`, '../../outside/secret.js'],
  ['a link to a file', `import x from './link.js';`, './link.js'],
  ['a link to a folder', `import x from '../linked/secret.js';`, '../linked/secret.js'],
  ['paths of tsconfig.json', `import x from '@out/secret.js';`, '@out/secret.js'],
  ['main of a package', `import x from 'by-main';`, 'by-main'],
  ['browser of a package', `import x from 'by-browser';`, 'by-browser'],
  ['a link in node_modules to what is no package', `import x from 'linked/secret.js';`, 'linked/secret.js'],
];
for (const [title, source, specifier] of ways) {
  test(`${title} does not lead out of the project`, async (t) => {
    const { root, outside } = project(t, {
      'src/index.ts': `// first\n${source}\n${uses}`,
      'tsconfig.json': '{"compilerOptions":{"paths":{"@out/*":["../outside/*"]}}}',
      'node_modules/by-main/package.json': '{"name":"by-main","main":"../../../outside/secret.js"}',
      'node_modules/by-browser/package.json':
        '{"name":"by-browser","main":"./i.js","browser":{"./i.js":"../../../outside/secret.js"}}',
      'node_modules/by-browser/i.js': '',
    });
    symlinkSync('../../outside/secret.js', join(root, 'src/link.js'));
    symlinkSync('../outside', join(root, 'linked'));
    symlinkSync('../../outside', join(root, 'node_modules/linked'));
    const error = await refusal(bundled(root));
    const written = specifier.replace('{out}', outside);
    assert.equal(error.code, 'outside');
    assert.ok(error.message.startsWith(`"${written}" is outside the project, at ../outside/`), error.message);
    assert.equal(error.place?.file, 'src/index.ts');
    assert.equal(error.place?.line, 2);
    assert.match(error.frame ?? '', /^> 2 \|/m);
  });
}

test('exports and imports of package.json do not lead out of a package', async (t) => {
  for (const target of ['../../../outside/secret.js', './../../../outside/secret.js', '{out}/secret.js']) {
    const { root } = project(t, {
      'src/index.ts': `import x from 'p'; ${uses}`,
      'node_modules/p/package.json': `{"name":"p","exports":{".":"${target}"}}`,
      'package.json': `{"imports":{"#x":"${target.replace('../../', '')}"}}`,
    });
    await refusal(bundled(root));
    writeFiles(root, { 'src/index.ts': `import x from '#x'; ${uses}` });
    await refusal(bundled(root));
  }
});

test('a tsconfig.json that extends or refers to a file outside is refused with its line', async (t) => {
  for (const text of [
    '{\n  "extends": "../outside/passwd" }',
    '{\n  "extends": ["{out}/secret.json"] }',
    '{ "files": [],\n  "references": [{ "path": "../outside/passwd" }] }',
  ]) {
    const { root } = project(t, { 'src/index.ts': alone, 'tsconfig.json': text });
    const error = await refusal(bundled(root));
    assert.equal(error.code, 'outside');
    assert.equal(error.place?.file, 'tsconfig.json');
    assert.equal(error.place?.line, 2);
  }
  const { root } = project(t, { 'src/index.ts': alone });
  symlinkSync('../outside/passwd', join(root, 'tsconfig.json'));
  assert.equal((await refusal(bundled(root))).message, 'tsconfig.json is a link to a path outside the project');
});

test('an entry that is a link out of the project is refused', async (t) => {
  const { root } = project(t, { 'src/a.ts': '' });
  symlinkSync('../../outside/passwd', join(root, 'src/index.ts'));
  await refusal(build({ root, config: configOf(), artifacts: join(root, 'artifacts') }));
});

test('addresses of source maps and of assets are not followed', async (t) => {
  const { root } = project(t, {
    'src/index.ts': `export default { u: new URL('../../../outside/secret.js', import.meta.url) };\n//# sourceMappingURL=../../outside/passwd\n`,
  });
  const { code, map } = await bundled(root);
  assert.ok(!code.includes(secret) && !map.includes(secret));
  assert.deepEqual(code.match(/sourceMappingURL=.*/g), ['sourceMappingURL=worker.js.map']);
  assert.ok(!(JSON.parse(map) as { sources: string[] }).sources.some((source) => source.includes('outside')));
});

test('every import that leads out is named', async (t) => {
  const { root } = project(t, {
    'src/index.ts': `import './b.ts';\nimport '../../outside/secret.js';`,
    'src/b.ts': `import '../../outside/secret.json';`,
  });
  const error = await refusal(bundled(root));
  assert.deepEqual(
    [error, ...error.others].map(({ place }) => `${place?.file}:${place?.line}`),
    ['src/b.ts:1', 'src/index.ts:2'],
  );
});

test('migrations are not read through a link that leads out', async (t) => {
  const yaml = 'kind: worker\ndb: { DB: main }';
  const worker = { 'src/index.ts': alone };
  const links: readonly [link: string, target: string][] = [
    ['migrations', '../outside'],
    ['migrations/DB', '../../outside'],
    ['migrations/1.sql', '../../outside/a.sql'],
  ];
  for (const [link, target] of links) {
    const { root } = project(t, worker);
    mkdirSync(dirname(join(root, link)), { recursive: true });
    symlinkSync(target, join(root, link));
    const error = await refusal(build({ root, config: configOf(yaml), artifacts: join(root, 'artifacts') }));
    assert.equal(error.message, `${link} is a link to a path outside the project`);
  }
});

test('_headers and _redirects are not read through a link that leads out, and none of their lines is shown', async (t) => {
  for (const name of ['_headers', '_redirects']) {
    const { root } = project(t, { 'src/index.ts': alone, 'public/a.txt': '' });
    symlinkSync('../../outside/_headers', join(root, 'public', name));
    const error = await refusal(build({ root, config: configOf(), artifacts: join(root, 'artifacts') }));
    assert.equal(error.message, `Asset ${name} is a link to a path outside the assets folder`);
  }
});

test('files of a workspace around the project are read', async (t) => {
  const workspace = projectFolder(t, {
    'apps/web/src/index.ts': `import x from '../../../shared/x.ts'; ${uses}`,
    'shared/x.ts': 'export default "shared";',
  });
  const root = join(workspace, 'apps/web');
  assert.match((await bundled(root, workspace)).code, /shared/);
  assert.equal((await refusal(bundled(root))).code, 'outside');
});

test('packages are read where links of package managers lead', async (t) => {
  const { root, outside } = project(t, {
    'src/index.ts': `import x from 'lib'; import y from '@s/stored'; x(y); ${uses}`,
  });
  // As npm links `file:../lib`, whose own dependency is linked as well; and a store outside of the project.
  writeFiles(dirname(root), {
    'lib/package.json': '{"name":"lib","main":"./i.js"}',
    'lib/i.js': `import d from 'dependency'; import t from './t.txt?raw'; export default () => d + t;`,
    'lib/t.txt': 'of the package',
    'dependency/package.json': '{"name":"dependency","main":"i.js"}',
    'dependency/i.js': 'export default 7;',
    'store/1/node_modules/@s/stored/package.json': '{"name":"@s/stored","main":"i.js"}',
    'store/1/node_modules/@s/stored/i.js': `import b from 'beside'; export default b;`,
    'store/2/node_modules/beside/package.json': '{"name":"beside","main":"i.js"}',
    'store/2/node_modules/beside/i.js': 'export default 8;',
  });
  for (const [link, target] of [
    ['node_modules/lib', '../../lib'],
    ['../lib/node_modules/dependency', '../../dependency'],
    ['node_modules/@s/stored', '../../../store/1/node_modules/@s/stored'],
    ['../store/1/node_modules/beside', '../../2/node_modules/beside'],
  ] as const) {
    mkdirSync(dirname(join(root, link)), { recursive: true });
    symlinkSync(target, join(root, link));
  }
  assert.match((await bundled(root)).code, /of the package/);
  const containment = containmentOf(root);
  assert.equal(containment.holds(join(outside, 'passwd')), false);
  assert.equal(containment.holds(dirname(root)), false);
  assert.equal(containment.holds(join(dirname(root), 'gone')), false);
});

test('a link in node_modules to a folder around the project is no package', async (t) => {
  const { root } = project(t, { 'src/index.ts': `import x from 'up/outside/secret.js'; ${uses}` });
  writeFiles(dirname(root), { 'package.json': '{"name":"up"}' });
  mkdirSync(join(root, 'node_modules'));
  symlinkSync('../..', join(root, 'node_modules/up'));
  assert.equal((await refusal(bundled(root))).code, 'outside');
});

test('node_modules may be a link to that of another checkout, and to nothing else', async (t) => {
  const { root } = project(t, { 'src/index.ts': `import x from 'p'; ${uses}` });
  writeFiles(dirname(root), {
    'main/node_modules/p/package.json': '{"name":"p","main":"i.js"}',
    'main/node_modules/p/i.js': 'export default "installed";',
    'other/p/package.json': '{"name":"p","main":"i.js"}',
    'other/p/i.js': 'export default "installed";',
  });
  symlinkSync('../main/node_modules', join(root, 'node_modules'));
  assert.match((await bundled(root)).code, /installed/);
  unlinkSync(join(root, 'node_modules'));
  symlinkSync('../other', join(root, 'node_modules'));
  assert.equal((await refusal(bundled(root))).code, 'outside');
});

test('an output folder, and the public folder beside a worker, may not be a link that leads out', async (t) => {
  for (const [link, yaml] of [
    ['public', ''],
    ['dist', 'out: dist'],
    ['dist', 'kind: static\nbuild: "true"'],
  ] as const) {
    const { root, outside } = project(t, { 'src/index.ts': alone });
    writeFiles(outside, { 'index.html': secret });
    symlinkSync('../outside', join(root, link));
    const error = await refusal(build({ root, config: configOf(yaml), artifacts: join(root, 'artifacts') }));
    assert.equal(error.message, `The output directory "${link}" is outside the project`);
  }
});
