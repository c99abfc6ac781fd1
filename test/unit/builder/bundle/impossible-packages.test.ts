// Packages that cannot run in a worker say so in one sentence: while the project is built, or when they are first used.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { impossibilities, impossiblePackages } from '#builder/bundle/impossible-packages.ts';
import type { BuildError } from '#builder/project/build-error.ts';
import { bundleFiles, run } from '../project-folder.ts';

const specifiers = Object.entries(impossiblePackages).flatMap(([name, { paths = [] }]) => [
  name,
  ...paths.map((path) => `${name}/${path}`),
]);

const SHARP =
  'sharp cannot run in a worker: it is a native module, which only Node can load; use a WebAssembly codec such as @jsquash/jpeg, or a server for Node (kind: ssr)';
const KAFKA =
  "kafkajs cannot run in a worker: it keeps its own connections open, but a worker's connections end with each request; use a queue, or a server for Node (kind: ssr)";

/** A dependency, installed. */
function dependency(name: string, code: string, more: object = {}): Record<string, string> {
  return {
    [`node_modules/${name}/package.json`]: JSON.stringify({ name, main: 'index.js', ...more }),
    [`node_modules/${name}/index.js`]: code,
  };
}

test('each package of the table throws its sentence when a dependency loads or uses it', async (t) => {
  const worker = await run<{ fetch(): Record<string, string> }>(t, {
    'src/index.ts': 'import { messages } from "dep"; export default { fetch: () => messages() };',
    ...dependency(
      'dep',
      `const loads = { ${specifiers.map((name) => `${JSON.stringify(name)}: () => require(${JSON.stringify(name)})`).join(', ')} };
exports.messages = () => Object.fromEntries(Object.entries(loads).map(([name, load]) => {
  try { const loaded = load(); class Own extends loaded.Base {} new loaded.Any.Thing(Own).start(); return [name, 'worked']; } catch (error) { return [name, error.message]; }
}));`,
    ),
  });
  const messages = worker.fetch();
  assert.ok(Object.keys(impossiblePackages).length >= 50);
  assert.deepEqual(Object.keys(messages).toSorted(), specifiers.toSorted());
  for (const [specifier, message] of Object.entries(messages)) {
    const name = Object.keys(impossiblePackages).find((one) => specifier === one || specifier.startsWith(`${one}/`))!;
    const { why, use } = impossiblePackages[name]!;
    assert.equal(message, `${name} cannot run in a worker: ${impossibilities[why]}; use ${use}`);
    assert.doesNotMatch(message, /\n|\.$/);
  }
  assert.equal(messages['sharp'], SHARP);
  assert.equal(messages['kafkajs'], KAFKA);
});

test('docs/compatibility.md lists each package of the table, under its reason', () => {
  const page = readFileSync(new URL('../../../../docs/compatibility.md', import.meta.url), 'utf8');
  const section = page.split('## Packages that cannot run in a worker\n')[1]!.split('\n## ')[0]!;
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && line.includes('`'));
  const listed = Object.fromEntries(
    rows.map((row) => {
      const [, names, reason] = row.split('|').map((cell) => cell.trim());
      return [reason!, [...names!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)];
    }),
  );
  const expected = Object.fromEntries(
    Object.entries(impossibilities).map(([why, reason]) => [
      reason,
      Object.keys(impossiblePackages).filter((name) => impossiblePackages[name]!.why === why),
    ]),
  );
  assert.deepEqual(listed, expected);
});

test('a native package that the project imports ends its build, with the place', async (t) => {
  const error = await bundleFiles(t, {
    'src/index.ts': `import { resize } from './images.ts';\nexport default { fetch: () => resize() };`,
    'src/images.ts': `import { join } from 'node:path';\nimport sharp from 'sharp';\nexport const resize = () => sharp(join('a'));`,
  }).then(
    () => assert.fail('it was built'),
    (thrown: BuildError) => thrown,
  );
  assert.deepEqual(
    [error.code, error.message, error.place],
    ['not_supported', SHARP, { file: 'src/images.ts', line: 2, column: 19 }],
  );
});

test('a package that fails when it is used is warned of, with the place, and throws where it is used', async (t) => {
  const files = {
    'src/index.ts': `import kafka, { Pool, types } from 'kafkajs';\nimport * as all from 'kafkajs';\nclass Own extends Pool {}\nconst kept = [types.builtins.INT8, Own, kafka.Client];\nexport default { a: () => new Pool(), b: () => all.Client(), c: () => new kafka.Client(), d: () => kept.length, e: () => import('kafkajs').then(({ Pool }) => new Pool()) };`,
  };
  const { warnings } = await bundleFiles(t, files);
  assert.deepEqual([...new Set(warnings)], [`src/index.ts:1:36: ${KAFKA}`]);
  const worker = await run(t, files);
  for (const use of ['a', 'b', 'c']) assert.throws(() => worker[use]!(), { message: KAFKA });
  assert.equal(worker['d']!(), 3);
  await assert.rejects(worker['e']!() as Promise<unknown>, { message: KAFKA });
});

test('only what cannot work is refused: other paths of a package, aliases and modules of the project are read', async (t) => {
  const worker = await run(t, {
    'src/index.ts':
      'import { SMTP } from "amqplib/lib/defs"; import bcrypt from "bcrypt"; import nats from "nats"; export default { fetch: () => [SMTP, bcrypt.js, nats].join() };',
    'tsconfig.json': '{"compilerOptions":{"paths":{"nats":["./src/nats.ts"]}}}',
    'src/nats.ts': 'export default "mine";',
    'node_modules/amqplib/package.json': '{"name":"amqplib"}',
    'node_modules/amqplib/lib/defs/index.js': 'exports.SMTP = "text";',
    'node_modules/bcrypt/package.json': '{"name":"bcryptjs","main":"index.js"}',
    'node_modules/bcrypt/index.js': 'exports.js = "bcryptjs";',
  });
  assert.equal(worker['fetch']!(), 'text,bcryptjs,mine');
});

for (const [how, code] of [
  ['a .node file', `module.exports = require('./build/Release/addon.node');`],
  ['bindings', `module.exports = require('bindings')('addon.node');`],
  ['node-gyp-build', `module.exports = require('node-gyp-build')(__dirname);`],
  [
    'node-pre-gyp',
    `const binary = require('@mapbox/node-pre-gyp'); module.exports = require(binary.find(__dirname + '/package.json'));`,
  ],
  ['a package for each machine', `module.exports = require('@own/addon-linux-x64-gnu');`],
  ['a package of WebAssembly for a machine', `module.exports = require('@own/addon-wasm32-wasi');`],
] as const) {
  test(`any package that loads its native half from ${how} is named`, async (t) => {
    const worker = await run(t, {
      'src/index.ts':
        'export default { fetch: async () => { try { return (await import("@own/addon")).default; } catch (error) { return error.message; } } };',
      ...dependency('@own/addon', code),
      'node_modules/@own/addon/build/Release/addon.node': new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0xff]),
    });
    assert.equal(
      await worker['fetch']!(),
      '@own/addon cannot run in a worker: it is a native module, which only Node can load; use a package in WebAssembly or JavaScript, or a server for Node (kind: ssr)',
    );
  });
}

test('a package whose native half is optional goes on without it', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'import mask from "fast"; export default { fetch: () => mask };',
    ...dependency(
      'fast',
      `try { module.exports = require('node-gyp-build')(__dirname); } catch { try { module.exports = require('sharp'); } catch { module.exports = 'slow'; } }`,
    ),
  });
  assert.equal(worker['fetch']!(), 'slow');
});

test('the client of socket.io polls over fetch, as a worker has no XMLHttpRequest', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'import transports from "engine.io-client"; export default { fetch: () => transports.polling };',
    'node_modules/engine.io-client/package.json': JSON.stringify({
      name: 'engine.io-client',
      type: 'module',
      exports: './build/esm/transports/index.js',
      browser: { './build/esm/transports/polling-xhr.node.js': './build/esm/transports/polling-xhr.js' },
    }),
    'node_modules/engine.io-client/build/esm/transports/index.js':
      'import { XHR } from "./polling-xhr.node.js"; export default { polling: XHR };',
    'node_modules/engine.io-client/build/esm/transports/polling-xhr.js': 'export const XHR = "XMLHttpRequest";',
    'node_modules/engine.io-client/build/esm/transports/polling-fetch.js': 'export const Fetch = "fetch";',
  });
  assert.equal(worker['fetch']!(), 'fetch');
});
