// builder/build/artifact.ts: an artifact is there whole or not at all, under the hash of its manifest.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Manifest } from '#core/manifest.ts';
import { artifactId, canonicalJson, hashOf } from '#core/artifact-id.ts';
import { writeArtifact, type ArtifactContent } from '#builder/build/artifact.ts';
import { projectFolder } from '../project-folder.ts';

const code = 'export default {};';

function contentOf(files: Readonly<Record<string, string>>, sources: ReadonlyMap<string, string>): ArtifactContent {
  const manifest: Manifest = {
    version: 1,
    kind: 'dynamic',
    worker: { hash: hashOf(code), bytes: code.length, mapHash: hashOf('{}') },
    compatibilityDate: '2025-04-02',
    compatibilityFlags: [],
    assets: {
      binding: null,
      notFoundHandling: 'none',
      runWorkerFirst: false,
      files: Object.fromEntries(
        Object.entries(files).map(([path, text]) => [
          path,
          { hash: hashOf(text), bytes: Buffer.byteLength(text), type: 'text/plain' },
        ]),
      ),
    },
    bindings: {},
    cron: {},
    ai: false,
    skewProtection: true,
  };
  return { manifest, worker: { code, map: '{}' }, assets: sources };
}

test('canonical JSON has sorted keys and no spaces', () => {
  assert.equal(canonicalJson({ b: [1, { d: null, c: 'é' }], a: true }), '{"a":true,"b":[1,{"c":"é","d":null}]}');
});

test('an artifact has its manifest, bundle, map and assets in a folder named by the manifest', async (t) => {
  const root = projectFolder(t, { 'x.txt': 'text' });
  const content = contentOf({ 'deep/ü.txt': 'text' }, new Map([['deep/ü.txt', join(root, 'x.txt')]]));
  const artifact = await writeArtifact(join(root, 'artifacts'), content);
  assert.equal(artifact.id, artifactId(content.manifest));
  assert.equal(artifact.folder, join(root, 'artifacts', artifact.id));
  assert.equal(hashOf(readFileSync(join(artifact.folder, 'manifest.json'), 'utf8')), artifact.id);
  assert.equal(readFileSync(join(artifact.folder, 'worker.js'), 'utf8'), code);
  assert.equal(readFileSync(join(artifact.folder, 'assets/deep/ü.txt'), 'utf8'), 'text');
  assert.deepEqual(readdirSync(join(root, 'artifacts')), [artifact.id]);
  assert.equal(artifact.files, 4);
  assert.equal(artifact.bytes, canonicalJson(content.manifest).length + 1 + code.length + 2 + 4);
});

test('an artifact that exists is not written again', async (t) => {
  const root = projectFolder(t, {});
  const content = contentOf({}, new Map());
  const first = await writeArtifact(root, content);
  const stamps = (): number[] => [statSync(first.folder).ino, statSync(join(first.folder, 'manifest.json')).mtimeMs];
  const before = stamps();
  assert.deepEqual(await writeArtifact(root, content), first);
  assert.deepEqual(stamps(), before);
});

test('many writers of the same artifact leave one and nothing else', async (t) => {
  const root = projectFolder(t, { 'x.txt': 'text' });
  const content = contentOf({ 'x.txt': 'text' }, new Map([['x.txt', join(root, 'x.txt')]]));
  const written = await Promise.all(
    Array.from({ length: 8 }, () => writeArtifact(join(root, 'artifacts'), content, false)),
  );
  assert.deepEqual(readdirSync(join(root, 'artifacts')), [written[0]!.id]);
});

test('an artifact leaves as much of the disk free as it is told', async (t) => {
  const root = projectFolder(t, { 'x.txt': 'text' });
  const content = contentOf({ 'x.txt': 'text' }, new Map([['x.txt', join(root, 'x.txt')]]));
  await assert.rejects(writeArtifact(join(root, 'artifacts'), content, true, 900_000_000_000_000), {
    code: 'write_failed',
    message: /it has \d+ bytes, the disk has \d+ free, and 900000000000000 of them stay free \(DISK_FREE_BYTES_MIN\)$/,
  });
  assert.deepEqual(readdirSync(join(root, 'artifacts')), []);
  await writeArtifact(join(root, 'artifacts'), content, true, 1);
});

test('an asset that changed since it was hashed fails the build and leaves nothing', async (t) => {
  const root = projectFolder(t, { 'x.txt': 'other' });
  const content = contentOf({ 'x.txt': 'text' }, new Map([['x.txt', join(root, 'x.txt')]]));
  await assert.rejects(writeArtifact(join(root, 'artifacts'), content), {
    code: 'assets',
    message: 'Asset x.txt changed while the artifact was written; build again',
  });
  assert.deepEqual(readdirSync(join(root, 'artifacts')), []);
});

test('an asset that is gone fails the build and leaves nothing', async (t) => {
  const root = projectFolder(t, { 'x.txt': 'text' });
  const content = contentOf({ 'x.txt': 'text' }, new Map([['x.txt', join(root, 'x.txt')]]));
  unlinkSync(join(root, 'x.txt'));
  await assert.rejects(writeArtifact(join(root, 'artifacts'), content), {
    code: 'write_failed',
    message: /no such file/,
  });
  assert.deepEqual(readdirSync(join(root, 'artifacts')), []);
});

test('a file where the artifacts folder should be is an error that names it', async (t) => {
  const root = projectFolder(t, { artifacts: '' });
  await assert.rejects(writeArtifact(join(root, 'artifacts'), contentOf({}, new Map())), {
    code: 'write_failed',
    message: new RegExp(`^The artifact cannot be written to ${join(root, 'artifacts')}: `),
  });
});

test('a full disk leaves no half artifact, and the next build with room succeeds', async (t) => {
  const root = projectFolder(t, { big: 'x'.repeat(300_000) });
  const disk = join(root, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    t.skip('needs the right to mount a small file system');
    return;
  }
  try {
    const text = readFileSync(join(root, 'big'), 'utf8');
    await assert.rejects(writeArtifact(disk, contentOf({ big: text }, new Map([['big', join(root, 'big')]]))), {
      code: 'write_failed',
      message: `The artifact cannot be written to ${disk}: the disk is full`,
    });
    assert.deepEqual(readdirSync(disk), []);
    writeFileSync(join(root, 'small'), 'x');
    const { id } = await writeArtifact(disk, contentOf({ small: 'x' }, new Map([['small', join(root, 'small')]])));
    assert.deepEqual(readdirSync(disk), [id]);
  } finally {
    execFileSync('umount', [disk]);
  }
});
