// builder/assets/asset-encodings.ts: which files get compressed forms, and that those decode to the file.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { build } from '#builder/build/build.ts';
import { hashOf } from '#core/artifact-id.ts';
import { configOf, projectFolder } from '../project-folder.ts';

const prose = 'What is said often is soon said again. '.repeat(100);
// Every byte pair once, hashed: nothing for a compressor to find.
const noise = Uint8Array.from(
  Array.from({ length: 64 }, (_, index) => [...Buffer.from(hashOf(String(index)), 'hex')]).flat(),
);

test('text of 1 KB and more is compressed at build, and what compresses is smaller and decodes to the file', async (t) => {
  const root = projectFolder(t, {
    'index.html': prose,
    'copy.html': prose,
    'small.txt': prose.slice(0, 1023),
    'enough.txt': prose.slice(0, 1024),
    'image.png': prose,
    'noise.txt': noise,
    'icon.svg': prose,
    'module.wasm': prose,
  });
  const { manifest, folder, files } = await build({
    root,
    config: configOf('kind: static\nbuild: "true"'),
    artifacts: `${root}-out`,
  });
  const listed = manifest.assets!.files;
  assert.deepEqual(
    Object.keys(listed).filter((path) => listed[path]!.encoded !== undefined),
    ['copy.html', 'enough.txt', 'icon.svg', 'index.html', 'module.wasm'],
  );
  const { br, gzip } = listed['index.html']!.encoded!;
  for (const [form, decode] of [
    [br!, brotliDecompressSync],
    [gzip!, gunzipSync],
  ] as const) {
    const bytes = readFileSync(join(folder, 'encoded', form.hash));
    assert.equal(hashOf(bytes), form.hash);
    assert.equal(bytes.byteLength, form.bytes);
    assert.ok(form.bytes < prose.length);
    assert.equal(decode(bytes).toString(), prose);
  }
  assert.deepEqual(listed['copy.html']!.encoded, listed['index.html']!.encoded);
  // index, icon, module and copy hold the same text: two forms of it, and two of enough.txt.
  assert.equal(readdirSync(join(folder, 'encoded')).length, 4);
  assert.equal(files, 1 + 8 + 4);
  assert.deepEqual(readdirSync(`${root}-out`), [manifestName(folder)]);
  assert.ok(statSync(join(folder, 'manifest.json')).isFile());
});

test('without compression no file has another form', async (t) => {
  const root = projectFolder(t, { 'index.html': prose });
  const { manifest, folder } = await build({
    root,
    config: configOf('kind: static\nbuild: "true"'),
    artifacts: `${root}-out`,
    compress: false,
  });
  assert.deepEqual(manifest.assets!.files['index.html']!.encoded, undefined);
  assert.deepEqual(readdirSync(folder).toSorted(), ['assets', 'manifest.json']);
});

test('the rules of the folder are in the manifest, and a wrong one fails the build with its place', async (t) => {
  const root = projectFolder(t, {
    'out/index.html': 'x',
    'out/_headers': '/*\n  X-A: 1\n',
    'out/_redirects': '/a /b 301\n',
  });
  const config = configOf('kind: static\nbuild: "true"\nout: out');
  const { manifest } = await build({ root, config, artifacts: `${root}-out` });
  assert.deepEqual(manifest.assets!.headers, [{ pattern: '/*', set: [['x-a', '1']], remove: [] }]);
  assert.deepEqual(manifest.assets!.redirects, [{ from: '/a', to: '/b', status: 301, force: false }]);
  const broken = projectFolder(t, { 'out/index.html': 'x', 'out/_redirects': '/a /b 301\n/c\n' });
  await assert.rejects(build({ root: broken, config, artifacts: `${broken}-out` }), {
    code: 'assets',
    place: { file: 'out/_redirects', line: 2, column: 1 },
  });
});

function manifestName(folder: string): string {
  return folder.slice(folder.lastIndexOf('/') + 1);
}
