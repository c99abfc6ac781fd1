// The stamp that saves a start from building its examples again.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { publish } from '#artifacts/publish.ts';
import { keepPublished, publishedBefore, stampOf } from '#cli/start/examples-stamp.ts';

const ARTIFACT = 'a'.repeat(64);

function dataFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'stamp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const built = path.join(folder, 'built');
  mkdirSync(built);
  writeFileSync(path.join(built, 'manifest.json'), '{}');
  for (const project of ['hello', 'spa'])
    publish({
      dataFolder: folder,
      project,
      branch: 'main',
      production: true,
      artifactFolder: built,
      artifactId: ARTIFACT,
    });
  return folder;
}

test('a stamp changes with a file, its time and its name, and not with installed packages', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'stamp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'hello/index.ts');
  mkdirSync(path.join(folder, 'hello/node_modules'), { recursive: true });
  writeFileSync(file, 'one');
  const seen = [stampOf([folder])];
  writeFileSync(path.join(folder, 'hello/node_modules/a.js'), '1');
  assert.equal(stampOf([folder]), seen[0]);
  writeFileSync(file, 'three');
  seen.push(stampOf([folder]));
  utimesSync(file, 1, 1);
  seen.push(stampOf([folder]));
  renameSync(file, path.join(folder, 'hello/main.ts'));
  seen.push(stampOf([folder]));
  rmSync(path.join(folder, 'hello'), { recursive: true });
  seen.push(stampOf([folder]));
  assert.equal(new Set(seen).size, 5);
  assert.ok(seen.every((stamp) => /^[0-9a-f]{64}$/.test(stamp!)));
});

test('examples are built again after a change, without a record, and without their files', (t) => {
  const folder = dataFolder(t);
  assert.equal(publishedBefore(folder, 's1'), null);
  keepPublished(folder, 's1', ['hello', 'spa']);
  assert.deepEqual(publishedBefore(folder, 's1'), ['hello', 'spa']);
  assert.equal(publishedBefore(folder, 's2'), null);
  assert.equal(publishedBefore(folder, null), null);
  rmSync(path.join(folder, 'routes/spa.json'));
  assert.equal(publishedBefore(folder, 's1'), null);
  keepPublished(folder, 's1', ['hello']);
  assert.deepEqual(publishedBefore(folder, 's1'), ['hello']);
  rmSync(path.join(folder, 'artifacts', ARTIFACT), { recursive: true });
  assert.equal(publishedBefore(folder, 's1'), null);
  writeFileSync(path.join(folder, 'examples.json'), '{');
  assert.equal(publishedBefore(folder, 's1'), null);
});
