// What a platform leaves in its data folder about itself, from its first start on.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { readDataFolderRecord } from '#core/process/platform-record.ts';
import { isOlder } from '#operations/upgrade/pending.ts';
import { leaveFirstRecord } from '#runtime/supervisor/data-folder/platform-record.ts';

const about = { version: '1.2.3', program: '/srv/platform' };

function dataFolder(t: TestContext, ...made: string[]): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'record-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of made) mkdirSync(path.join(folder, name));
  return folder;
}

test('a first start that is cut off while its database is made leaves a folder of this version', (t) => {
  // The examples are published before.
  const folder = dataFolder(t, 'routes', 'artifacts');
  leaveFirstRecord({}, folder, about);
  mkdirSync(path.join(folder, 'postgres'));
  assert.equal(isOlder(folder), false);
  assert.equal(readDataFolderRecord(folder)?.version, '1.2.3');
});

test('a folder whose database is there without a record is of an older version, and stays so', (t) => {
  const folder = dataFolder(t, 'routes', 'postgres');
  leaveFirstRecord({}, folder, about);
  assert.equal(readDataFolderRecord(folder), null);
  assert.equal(isOlder(folder), true);
});
