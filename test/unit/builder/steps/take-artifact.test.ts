// builder/steps/take-artifact.ts: what a confined process made is stored if it is what its manifest says, and refused
// otherwise.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { build } from '#builder/build/build.ts';
import { takeArtifact } from '#builder/steps/take-artifact.ts';
import { artifactId, canonicalJson } from '#core/artifact-id.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { defaultLimits } from '#core/limits.ts';
import type { Manifest } from '#core/manifest.ts';

const limits = { ...defaultLimits, diskFreeBytesMin: 0 };
/** What a build made, copied for each test. */
let built: string;
let folder: string;
let made: string;
let store: string;
let id: string;
let manifest: Manifest;

before(async () => {
  built = mkdtempSync(join(tmpdir(), 'take-artifact-'));
  const root = join(built, 'project');
  mkdirSync(join(root, 'public'), { recursive: true });
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'src/index.ts'), 'export default { fetch: () => new Response("hello") };');
  writeFileSync(join(root, 'public/index.html'), `<h1>hello</h1>${'<p>'.repeat(500)}`);
  const { config } = parseProjectConfig('kind: worker\nout: public\n', { file: 'platform.yaml' });
  ({ id, manifest } = await build({ root, config: config!, artifacts: join(built, 'made'), durable: false }));
});
after(() => rmSync(built, { recursive: true }));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'take-artifact-'));
  made = join(folder, 'made');
  store = join(folder, 'store');
  cpSync(join(built, 'made'), made, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function take(bounds: Partial<typeof limits> = {}, named = id) {
  return takeArtifact(made, named, store, { ...limits, ...bounds });
}

/** Nothing is stored of what is refused. */
async function refused(pattern: RegExp, reason = 'artifact_invalid', bounds: Partial<typeof limits> = {}, named = id) {
  await assert.rejects(take(bounds, named), (error: { reason?: string; message: string }) => {
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, pattern);
    return true;
  });
  assert.deepEqual(existsSync(store) ? readdirSync(store) : [], []);
}

test('an artifact is stored under its id, with all its files', async () => {
  const taken = await take();
  assert.equal(taken.id, id);
  assert.deepEqual(readdirSync(join(store, id)).sort(), readdirSync(join(made, id)).sort());
  execFileSync('diff', ['-r', join(made, id), join(store, id)]);
});

test('a file that is not what the manifest says is refused', async () => {
  writeFileSync(join(made, id, 'worker.js'), 'export default {}');
  await refused(/worker\.js is not what its manifest says/);
});

test('a file of the same length with another content is refused', async () => {
  const { bytes } = manifest.assets!.files['index.html']!;
  writeFileSync(join(made, id, 'assets/index.html'), 'x'.repeat(bytes));
  await refused(/index\.html/);
});

test('a file that the manifest does not name is refused', async () => {
  writeFileSync(join(made, id, 'assets/more.html'), 'x');
  await refused(/assets\/more\.html is not in its manifest/);
});

test('a file that is missing is refused', async () => {
  rmSync(join(made, id, 'worker.js.map'));
  await refused(/worker\.js\.map is missing/);
});

test('a link in place of a file is refused, wherever it leads', async () => {
  writeFileSync(join(folder, 'elsewhere'), 'x');
  rmSync(join(made, id, 'assets/index.html'));
  symlinkSync(join(folder, 'elsewhere'), join(made, id, 'assets/index.html'));
  await refused(/assets\/index\.html is neither a file nor a folder/);
});

test('a link in place of a folder is refused', async () => {
  cpSync(join(made, id, 'assets'), join(folder, 'elsewhere'), { recursive: true });
  rmSync(join(made, id, 'assets'), { recursive: true });
  symlinkSync(join(folder, 'elsewhere'), join(made, id, 'assets'));
  await refused(/assets is neither a file nor a folder/);
});

test('a link in place of the whole artifact is refused', async () => {
  cpSync(join(made, id), join(folder, 'elsewhere'), { recursive: true });
  rmSync(join(made, id), { recursive: true });
  symlinkSync(join(folder, 'elsewhere'), join(made, id));
  await refused(/its folder is a link/);
});

test('a pipe in place of a file is refused', async () => {
  rmSync(join(made, id, 'worker.js'));
  execFileSync('mkfifo', [join(made, id, 'worker.js')]);
  await refused(/worker\.js is neither a file nor a folder/);
});

test('an id that is a path is refused', async () => {
  await refused(/its id is not a hash/, 'artifact_invalid', {}, '../../private');
});

test('a manifest under the id of another one is refused', async () => {
  const other = 'a'.repeat(64);
  cpSync(join(made, id), join(made, other), { recursive: true });
  await refused(/its manifest is from another artifact/, 'artifact_invalid', {}, other);
});

for (const path of ['../../../escaped', '/absolute', 'a/../../../b'])
  test(`a manifest with the asset ${path} is refused`, async () => {
    const files = { [path]: manifest.assets!.files['index.html']! };
    const forged: Manifest = { ...manifest, assets: { ...manifest.assets!, files } };
    const named = artifactId(forged);
    cpSync(join(made, id), join(made, named), { recursive: true });
    writeFileSync(join(made, named, 'manifest.json'), canonicalJson(forged));
    await refused(/./, 'artifact_invalid', {}, named);
  });

test('bounds are those of this process, whatever the other one kept', async () => {
  await refused(/BUILD_ARTIFACT_MAX_BYTES/, 'artifact_too_large', { artifactBytesMax: 100 });
  await refused(/BUILD_ARTIFACT_MAX_FILES/, 'artifact_too_many_files', { artifactFilesMax: 0 });
});
