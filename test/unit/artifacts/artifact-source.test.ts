// Artifacts are what their ids say, or are refused with what is wrong.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { artifactId, hashOf } from '#core/artifact-id.ts';
import type { Manifest } from '#core/manifest.ts';
import { toWorkerText } from '#core/worker-text.ts';
import { createArtifactSource, openArtifact } from '#artifacts/artifact-source.ts';

const code = 'export default {}';
const manifest: Manifest = {
  version: 1,
  kind: 'dynamic',
  worker: { hash: hashOf(Buffer.from(code)), bytes: code.length, mapHash: hashOf(Buffer.from('{}')) },
  compatibilityDate: '2026-01-01',
  compatibilityFlags: [],
  assets: null,
  bindings: {},
  cron: {},
  ai: false,
  skewProtection: false,
};

async function artifact(
  t: TestContext,
  files: Record<string, string>,
  id = artifactId(manifest),
): Promise<{ folder: string; id: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'artifact-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'artifacts', id), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'artifacts', id, name), text);
  return { folder, id };
}

test('a good artifact gives its manifest, its code, its source map and the places of its assets', async (t) => {
  const { folder, id } = await artifact(t, {
    'manifest.json': JSON.stringify(manifest),
    'worker.js': code,
    'worker.js.map': '{}',
  });
  const opened = openArtifact(folder, id);
  assert.deepEqual(opened.manifest, manifest);
  assert.deepEqual(opened.workerText(), toWorkerText(Buffer.from(code)));
  assert.equal(opened.sourceMap(), '{}');
  assert.equal(opened.assetFile('a/b.txt'), join(folder, 'artifacts', id, 'assets', 'a', 'b.txt'));
});

test('the order of the keys in manifest.json does not matter', async (t) => {
  const turned = Object.fromEntries(Object.entries(manifest).toReversed());
  const { folder, id } = await artifact(t, { 'manifest.json': JSON.stringify(turned, null, 2) });
  assert.equal(openArtifact(folder, id).id, id);
});

test('a worker that is not what the manifest says is corrupt, and so is one that is missing', async (t) => {
  const changed = await artifact(t, { 'manifest.json': JSON.stringify(manifest), 'worker.js': `${code} ` });
  assert.throws(() => openArtifact(changed.folder, changed.id).workerText(), {
    code: 'artifact_corrupt',
    message: /worker\.js does not match its hash/,
  });
  const missing = await artifact(t, { 'manifest.json': JSON.stringify(manifest) });
  assert.throws(() => openArtifact(missing.folder, missing.id).workerText(), {
    code: 'artifact_corrupt',
    message: /worker\.js cannot be read/,
  });
});

test('a manifest that is not what the id says is corrupt', async (t) => {
  const other = await artifact(t, { 'manifest.json': JSON.stringify({ ...manifest, ai: true }) });
  assert.throws(() => openArtifact(other.folder, other.id), {
    code: 'artifact_corrupt',
    message: /manifest\.json does not match/,
  });
  const broken = await artifact(t, { 'manifest.json': '{' });
  assert.throws(() => openArtifact(broken.folder, broken.id), { code: 'artifact_corrupt', message: /not JSON/ });
});

test('an artifact that is not there is unavailable, and an id that is a path is refused', async (t) => {
  const { folder } = await artifact(t, {});
  assert.throws(() => openArtifact(folder, 'b'.repeat(64)), { code: 'deployment_unavailable' });
  assert.throws(() => openArtifact(folder, '../../etc'), { code: 'artifact_corrupt' });
});

test('a manifest that was opened last is not read again', async (t) => {
  const { folder, id } = await artifact(t, { 'manifest.json': JSON.stringify(manifest), 'worker.js': code });
  const other = { ...manifest, ai: true };
  const otherId = artifactId(other);
  await mkdir(join(folder, 'artifacts', otherId));
  await writeFile(join(folder, 'artifacts', otherId, 'manifest.json'), JSON.stringify(other));
  const [open, openFew] = [createArtifactSource(folder), createArtifactSource(folder, 600)];
  for (const each of [open, openFew]) assert.deepEqual(each(id).manifest, manifest);
  openFew(otherId);
  await rm(join(folder, 'artifacts', id), { recursive: true });
  assert.deepEqual(open(id).manifest, manifest);
  assert.deepEqual(openFew(otherId).manifest, other);
  assert.throws(() => openFew(id), { code: 'deployment_unavailable' });
});
