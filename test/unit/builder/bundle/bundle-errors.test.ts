// What is wrong with a worker's sources is said with file, line, column, a code frame, and what to do.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { join } from 'node:path';
import { codeFrame } from '#core/code-frame.ts';
import { BuildError, formatBuildError } from '#builder/project/build-error.ts';
import { bundle } from '#builder/bundle/bundle.ts';
import { bundleFiles, projectFolder } from '../project-folder.ts';

async function failure(
  t: TestContext,
  files: Record<string, string | Uint8Array>,
  nodeCompat = true,
): Promise<BuildError> {
  const error: unknown = await bundleFiles(t, files, { nodeCompat }).then(
    () => assert.fail('it bundles'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof BuildError);
  return error;
}

test('a syntax error has its place and a code frame', async (t) => {
  const error = await failure(t, {
    'src/index.ts': 'const a = 1;\nexport default {\n  fetch() { return new Response("x" }\n};\n',
  });
  assert.equal(error.code, 'syntax');
  assert.equal(error.message, 'Expected `,` or `)` but found `}`');
  assert.deepEqual(error.place, { file: 'src/index.ts', line: 3, column: 37 });
  assert.equal(
    error.frame,
    `  1 | const a = 1;
  2 | export default {
> 3 |   fetch() { return new Response("x" }
    |                                     ^
  4 | };
  5 |`,
  );
});

test('a syntax error in an index file at the root names that file', async (t) => {
  const error = await failure(t, { 'index.ts': 'export default {' });
  assert.equal(error.place?.file, 'index.ts');
  assert.match(error.frame ?? '', /> 1 \| export default \{/);
});

test('every syntax error of a build is reported', async (t) => {
  const error = await failure(t, {
    'src/index.ts': 'import "./a.ts"; import "./b.ts";',
    'src/a.ts': 'const a = ;',
    'src/b.ts': 'let x = ;',
  });
  const places = [error, ...error.others].map(({ place }) => place?.file).sort();
  assert.deepEqual(places, ['src/a.ts', 'src/b.ts']);
});

const unresolved: readonly [specifier: string, message: string][] = [
  [
    './nope',
    'Cannot resolve "./nope", imported from src/index.ts. The file does not exist: check the path, including upper and lower case',
  ],
  ['hono', 'Cannot resolve "hono", imported from src/index.ts. Run: npm i hono'],
  ['@scope/kit/sub', 'Cannot resolve "@scope/kit/sub", imported from src/index.ts. Run: npm i @scope/kit'],
  [
    'tiny/inner',
    'Cannot resolve "tiny/inner", imported from src/index.ts. Package tiny is installed, but has no such export',
  ],
  ['_own', 'Cannot resolve "_own", imported from src/index.ts. No file and no package has this name'],
  [
    '__STATIC_CONTENT_MANIFEST',
    'Cannot resolve "__STATIC_CONTENT_MANIFEST", imported from src/index.ts. This module belongs to Workers Sites: files in "out" are served without code here, so remove the import and the code that uses it',
  ],
  [
    'virtual:react-router/server-build',
    'Cannot resolve "virtual:react-router/server-build", imported from src/index.ts. A Vite plugin creates this module: set "build" to the command that runs Vite, and "main" to the worker that it writes',
  ],
  ['#own', 'Cannot resolve "#own", imported from src/index.ts. Add this name to "imports" in package.json'],
  ['node:nonsense', 'Cannot resolve "node:nonsense", imported from src/index.ts. Node has no module with this name'],
  [
    'cloudflare:nope',
    'Cannot resolve "cloudflare:nope", imported from src/index.ts. There are cloudflare:email, cloudflare:node, cloudflare:sockets, cloudflare:workers, cloudflare:workflows; with import() it fails only where it is used',
  ],
];
for (const [specifier, message] of unresolved) {
  test(`an import of ${specifier} that does not resolve says what to do`, async (t) => {
    const error = await failure(t, {
      'src/index.ts': `// comment\nimport x from '${specifier}';\nexport default { fetch: () => x };`,
      'node_modules/tiny/package.json': '{"name":"tiny","version":"1.0.0","exports":{".":"./index.js"}}',
      'node_modules/tiny/index.js': '',
    });
    assert.equal(error.code, 'unresolved_import');
    assert.equal(error.message, message);
    assert.deepEqual(error.place, { file: 'src/index.ts', line: 2, column: 15 });
    assert.match(error.frame ?? '', /^> 2 \| import x/m);
  });
}

test('without nodejs_compat a module of Node does not resolve, and the flag is named', async (t) => {
  const error = await failure(
    t,
    { 'src/index.ts': 'import fs from "node:fs"; export default { fetch: () => fs };' },
    false,
  );
  assert.equal(
    error.message,
    'Cannot resolve "node:fs", imported from src/index.ts. This is a module of Node: add nodejs_compat to compatibility_flags',
  );
});

test('a package that requires something optional in a try block bundles', async (t) => {
  const { code } = await bundleFiles(t, {
    'src/index.ts': 'import x from "optional"; export default { fetch: () => x };',
    'node_modules/optional/package.json': '{"name":"optional","main":"i.js"}',
    'node_modules/optional/i.js':
      'let native = null; try { native = require("not-there"); } catch {} module.exports = native;',
  });
  assert.match(code, /not-there/);
});

test('an import of an export that does not exist names both files', async (t) => {
  const error = await failure(t, {
    'src/index.ts': 'import { b } from "./a.ts"; export default { fetch: () => b };',
    'src/a.ts': 'export const a = 1;',
  });
  assert.equal(error.code, 'missing_export');
  assert.equal(error.message, '"b" is not exported by "src/a.ts". If it is a type, import it with `import type`');
  assert.deepEqual(error.place, { file: 'src/index.ts', line: 1, column: 10 });
});

test('broken JSON has its place', async (t) => {
  const error = await failure(t, {
    'src/index.ts': 'import a from "./a.json"; export default { fetch: () => a };',
    'src/a.json': '{\n "a": 1,,\n}',
  });
  assert.equal(error.code, 'syntax');
  assert.equal(error.place?.file, 'src/a.json');
  assert.equal(error.place?.line, 2);
});

test('an import of a picture says where pictures belong', async (t) => {
  const error = await failure(t, {
    'src/index.ts': 'import a from "./a.png"; export default { fetch: () => a };',
    'src/a.png': new Uint8Array([0x89, 0x50, 0xff]),
  });
  assert.equal(
    error.message,
    'Could not load src/a.png: it is no text. Put it into the assets folder, or import it with { type: "bytes" }',
  );
  assert.deepEqual(error.place, { file: 'src/index.ts', line: 1, column: 15 });
});

test('a bundle over its bound is an error with both numbers', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': `export default { fetch: () => "${'x'.repeat(5000)}" };` });
  await assert.rejects(bundle({ root, entry: join(root, 'src/index.ts'), nodeCompat: true, bytesMax: 4000 }), {
    code: 'too_large',
    message: /^The bundle has \d{4} bytes; at most 4000 are allowed$/,
  });
});

test('a code frame of a minified line shows the part around the column', () => {
  const frame = codeFrame(`${'a'.repeat(5000)}!${'b'.repeat(5000)}`, 1, 5001);
  const [line = '', caret = ''] = frame.split('\n');
  assert.ok(line.length < 200);
  assert.equal(line[caret.indexOf('^')], '!');
});

test('a formatted error has its place before and its frame below, and the others after it', () => {
  const second = new BuildError('syntax', 'two', { place: { file: 'b.ts', line: 2, column: 1 } });
  const error = new BuildError('syntax', 'one', {
    place: { file: 'a.ts', line: 1, column: 5 },
    frame: '> 1 | let',
    others: [second],
  });
  assert.equal(formatBuildError(error), 'a.ts:1:5: one\n\n> 1 | let\n\nb.ts:2:1: two');
});

test('the class of a workflow that the worker does not export is named', async (t) => {
  const error: unknown = await bundleFiles(
    t,
    { 'src/index.ts': 'export class Order {}\nexport default {};' },
    { workflowClasses: { order: 'Order', refund: 'Refund' } },
  ).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof BuildError);
  assert.equal(error.code, 'missing_export');
  assert.equal(
    error.message,
    '"Refund" is not exported by "src/index.ts". platform.yaml names it as the class of a workflow: export it',
  );
});
