// builder/bundle/bundle.ts: what can be imported, what a bundle looks like, and that it is the same wherever it is
// made.
import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hashOf } from '#core/artifact-id.ts';
import { bundle } from '#builder/bundle/bundle.ts';
import { bundleFiles, plain, projectFolder, run } from '../project-folder.ts';

/** What Node has of it; its types come with the DOM's. */
const { WebAssembly } = globalThis as unknown as { WebAssembly: { Instance: new (module: object) => unknown } };

/** Exports `add(a, b)` for 32-bit integers. */
const addWasm = Buffer.from(
  '0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b',
  'hex',
);

const hono = {
  'node_modules/tiny/package.json':
    '{"name":"tiny","version":"1.0.0","exports":{"workerd":"./workerd.js","node":"./node.js","default":"./other.js"}}',
  'node_modules/tiny/workerd.js': 'export const name = "workerd"; export const unused = "left out";',
  'node_modules/tiny/node.js': 'export const name = "node";',
  'node_modules/tiny/other.js': 'export const name = "other";',
};

test('TypeScript with types, enums and decorator-free classes becomes one ESM file without imports', async (t) => {
  const { code } = await bundleFiles(t, {
    'src/index.ts': `import { greet, type Name } from './greet.js';
enum Tone { Loud = 'LOUD' }
export default { fetch: (name: Name) => greet(name) + Tone.Loud satisfies string };`,
    'src/greet.ts': 'export type Name = string; export const greet = (name: Name): string => `hi ${name}`;',
  });
  assert.doesNotMatch(code, /^import /m);
  assert.match(code, /^export \{ \S+ as default \};$/m);
  assert.match(code, /\/\/# sourceMappingURL=worker\.js\.map\s*$/);
});

test("a .tsx entry is compiled as the project's tsconfig.json says", async (t) => {
  const worker = await run(t, {
    'src/index.tsx': 'export default { fetch: () => <b>x</b> };',
    'tsconfig.json': '{"compilerOptions":{"jsx":"react-jsx","jsxImportSource":"tiny"}}',
    'node_modules/tiny/package.json': '{"name":"tiny","version":"1.0.0"}',
    'node_modules/tiny/jsx-runtime.js': 'export const jsx = (tag, props) => `<${tag}>${props.children}`;',
  });
  assert.equal(worker['fetch']!(), '<b>x');
});

test('a package is taken by its workerd condition, and what is unused of it is left out', async (t) => {
  const { code } = await bundleFiles(t, {
    'src/index.ts': 'import { name } from "tiny"; export default { fetch: () => name };',
    ...hono,
  });
  assert.match(code, /"workerd"/);
  assert.doesNotMatch(code, /left out|"node"/);
});

test('a package without exports is taken by browser, then module, then main', async (t) => {
  const worker = await run(t, {
    'src/index.ts':
      'import a from "a"; import b from "b"; import c from "c"; import d from "d"; export default { fetch: () => [a, b, c, d].join() };',
    'node_modules/a/package.json': '{"main":"m.js","module":"e.js","browser":"b.js"}',
    'node_modules/a/b.js': 'export default "browser";',
    'node_modules/b/package.json': '{"main":"m.js","module":"e.js"}',
    'node_modules/b/e.js': 'export default "module";',
    'node_modules/c/package.json': '{"main":"m.js"}',
    'node_modules/c/m.js': 'module.exports = "main";',
    'node_modules/d/package.json': '{"main":"m.js","browser":{"./m.js":"./b.js"}}',
    'node_modules/d/b.js': 'module.exports = "replaced";',
  });
  assert.equal(worker['fetch']!(), 'browser,module,main,replaced');
});

test('JSON, text by extension, by attribute and by ?raw, and bytes can be imported', async (t) => {
  const worker = await run(t, {
    'src/index.ts': `import config from './config.json';
import sql from './query.sql';
import page from './page.html';
import note from './note.txt';
import source from './config.json' with { type: 'text' };
import markdown from './read.md' with { type: 'text' };
import raw from './other.ts?raw';
import bytes from './read.md' with { type: 'bytes' };
import bin from './four.bin';
export default { fetch: () => ({ config, sql, page, note, source, markdown, raw, bytes: bytes.length, bin: [...new Uint8Array(bin)] }) };`,
    'src/config.json': '{"a":[1,2]}',
    'src/query.sql': 'SELECT 1',
    'src/page.html': '<p>',
    'src/note.txt': 'note',
    'src/read.md': '# é',
    'src/other.ts': 'export const never: string = run();',
    'src/four.bin': new Uint8Array([0, 127, 128, 255]),
  });
  assert.deepEqual(plain(worker['fetch']!()), {
    config: { a: [1, 2] },
    sql: 'SELECT 1',
    page: '<p>',
    note: 'note',
    source: '{"a":[1,2]}',
    markdown: '# é',
    raw: 'export const never: string = run();',
    bytes: 4,
    bin: [0, 127, 128, 255],
  });
});

for (const specifier of ['./add.wasm', './add.wasm?module']) {
  test(`${specifier} is a WebAssembly.Module`, async (t) => {
    const worker = await run<{ fetch(): object }>(t, {
      'src/index.ts': `import module from '${specifier}'; export default { fetch: () => module };`,
      'src/add.wasm': addWasm,
    });
    const { exports } = new WebAssembly.Instance(worker.fetch()) as { exports: { add(a: number, b: number): number } };
    assert.equal(exports.add(20, 22), 42);
  });
}

test('a dynamic import is part of the one file', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'export default { fetch: async () => (await import("./late.ts")).late };',
    'src/late.ts': 'export const late = "late";',
  });
  assert.equal(await worker['fetch']!(), 'late');
});

test('NODE_ENV is production and import.meta.url a fixed address', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'export default { fetch: () => [process.env.NODE_ENV, import.meta.url].join(" ") };',
  });
  assert.equal(worker['fetch']!(), 'production file:///worker.js');
});

const sameEverywhere = {
  'index.ts': `import other from './src/other.ts'; import config from './config.json'; import { Buffer } from 'node:buffer'; import path from 'path';
import { name } from 'tiny';
export default { fetch: () => [other, config, Buffer.from('x'), path.join('a', 'b'), name, process.env['X']] };`,
  'src/other.ts': `import up from '../index.ts'; import * as again from '..'; import raw from './other.ts?raw'; export default () => [up, again, raw];`,
  'config.json': '{}',
  ...hono,
};

test('the same sources give the same bytes from another folder, and neither names it', async (t) => {
  const first = projectFolder(t, sameEverywhere, 'first-place');
  const second = projectFolder(t, sameEverywhere, 'other');
  const made = [];
  for (const root of [first, second, first])
    made.push(await bundle({ root, entry: join(root, 'index.ts'), nodeCompat: true }));
  const [one, ...others] = made.map(({ code, map }) => ({ code: hashOf(code), map: hashOf(map) }));
  assert.deepEqual(others, [one, one]);
  for (const text of [made[0]!.code, made[0]!.map]) {
    assert.doesNotMatch(text, /first[-_]place|builder-[A-Za-z0-9]{6}/);
    assert.ok(!text.includes(join(import.meta.dirname, '../../../..')));
  }
});

test('the source map points into the project, with the text of its own files only', async (t) => {
  const { map } = await bundleFiles(t, {
    'src/index.ts': 'import { name } from "tiny"; export default { fetch: () => name + new Error().stack };',
    ...hono,
  });
  const { sources, sourcesContent } = JSON.parse(map) as { sources: string[]; sourcesContent: (string | null)[] };
  assert.deepEqual(sources, ['node_modules/tiny/workerd.js', 'src/index.ts', 'platform:shims/handler.ts']);
  assert.deepEqual(
    sourcesContent.map((text) => text !== null),
    [false, true, false],
  );
});

test('the files a bundle was made from are listed', async (t) => {
  const root = projectFolder(t, {
    'src/index.ts':
      'import text from "./a.txt?raw"; import { name } from "tiny"; export default { fetch: () => text + name };',
    'src/a.txt': '',
    ...hono,
  });
  const { inputs } = await bundle({ root, entry: join(root, 'src/index.ts'), nodeCompat: true });
  assert.deepEqual(inputs, [
    join(root, 'node_modules/tiny/workerd.js'),
    join(root, 'src/a.txt'),
    join(root, 'src/index.ts'),
  ]);
});

test('a project reached through a link is bundled as if it were not', async (t) => {
  const root = projectFolder(t, {
    'index.ts': 'import { a } from "./a.ts"; export default { fetch: () => a };',
    'a.ts': 'export const a = 1;',
  });
  const link = `${root}-link`;
  symlinkSync(root, link);
  const [direct, linked] = await Promise.all(
    [root, link].map((folder) => bundle({ root: folder, entry: join(folder, 'index.ts'), nodeCompat: true })),
  );
  assert.equal(hashOf(linked!.code + linked!.map), hashOf(direct!.code + direct!.map));
});
