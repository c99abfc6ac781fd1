// What others may read in a data folder.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { keepPrivate } from '#runtime/supervisor/data-folder/private-folders.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('folders and records of an older version are closed to others, and what a link leads to is left alone', (t) => {
  const top = mkdtempSync(join(tmpdir(), 'private-'));
  t.after(() => rmSync(top, { recursive: true }));
  const [data, elsewhere] = [join(top, 'data'), join(top, 'elsewhere')];
  for (const folder of [data, elsewhere, join(data, 'routes'), join(data, 'artifacts')]) {
    mkdirSync(folder);
    chmodSync(folder, 0o777);
  }
  symlinkSync(elsewhere, join(data, 'files'));
  const record = join(data, 'routes/shop.json');
  writeFileSync(record, '{}');
  chmodSync(record, 0o644);
  keepPrivate(data);
  assert.deepEqual([data, join(data, 'routes'), join(data, 'artifacts'), record, elsewhere].map(modeOf), [
    '775',
    '700',
    '700',
    '600',
    '777',
  ]);
  keepPrivate(data);
  assert.equal(modeOf(record), '600');
});

test('a new data folder can be passed through by the user of Postgres, and its folders cannot', (t) => {
  const top = mkdtempSync(join(tmpdir(), 'private-'));
  t.after(() => rmSync(top, { recursive: true }));
  const before = process.umask(0);
  t.after(() => process.umask(before));
  keepPrivate(join(top, 'data'));
  assert.deepEqual(
    ['data', 'data/artifacts', 'data/routes'].map((name) => modeOf(join(top, name))),
    ['755', '700', '700'],
  );
});
