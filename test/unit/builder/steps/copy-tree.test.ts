import assert from 'node:assert/strict';
import { linkSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { copyTree } from '#builder/steps/copy-tree.ts';

function folders(t: { after(end: () => void): void }): [from: string, to: string] {
  const folder = mkdtempSync(join(tmpdir(), 'copy-tree-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return [mkdtempSync(join(folder, 'from-')), join(folder, 'to')];
}
const sumOf = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

test('files that take nothing of the disk by holes are not copied beyond the bound', async (t) => {
  const [from, to] = folders(t);
  for (const name of 'abcdefghij') {
    writeFileSync(join(from, name), '');
    truncateSync(join(from, name), 3_000_000);
  }
  assert.equal(await copyTree(from, to, { bytesMax: 10_000_000, filesMax: 100 }), null);
  assert.equal(sumOf(to), 9_000_000);
});

test('one file of many names is not copied beyond the bound', async (t) => {
  const [from, to] = folders(t);
  writeFileSync(join(from, 'a'), Buffer.alloc(400_000));
  for (const name of 'bcdefghij') linkSync(join(from, 'a'), join(from, name));
  assert.equal(await copyTree(from, to, { bytesMax: 1_000_000, filesMax: 100 }), null);
  assert.equal(sumOf(to), 800_000);
});

test('what is within the bounds is copied', async (t) => {
  const [from, to] = folders(t);
  for (const name of 'abc') writeFileSync(join(from, name), name);
  assert.deepEqual(await copyTree(from, to, { bytesMax: 3, filesMax: 3 }), { files: 3, bytes: 3 });
  assert.deepEqual(readdirSync(to).toSorted(), ['a', 'b', 'c']);
});
