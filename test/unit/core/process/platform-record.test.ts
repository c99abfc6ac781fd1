// What keeps a platform from starting on a data folder.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { startProblem, writeDataFolderRecord, writeWhole } from '#core/process/platform-record.ts';

const folders: string[] = [];
const folder = (): string => {
  folders.push(mkdtempSync(path.join(tmpdir(), 'platform-record-')));
  return folders.at(-1)!;
};
after(() => folders.forEach((one) => rmSync(one, { recursive: true })));

const record = {
  format: 1,
  version: '9.0.0',
  program: '/srv/new',
  schema: 7,
  postgres: 'embedded',
  databases: 'folder',
  files: 'disk',
  startedAt: '2026-11-23T13:00:00.000Z',
} as const;

test('an older version does not start on what a newer one wrote', () => {
  const one = folder();
  assert.equal(startProblem(one, 5, ''), null);
  writeDataFolderRecord(one, record);
  assert.equal(startProblem(one, 7, ''), null);
  assert.match(startProblem(one, 6, '')!, /was written by a newer version of the platform \(9\.0\.0, in \/srv\/new\)/);
});

test('nobody starts on a restore that was cut off', () => {
  const one = folder();
  writeWhole(path.join(one, 'restore.json'), { archive: '/b/x.tar', aside: null });
  assert.match(startProblem(one, 5, '')!, /Run `platform restore \/b\/x\.tar --force` again/);
});

test('on an upgrade that was cut off, only the upgrade itself starts', () => {
  const one = folder();
  writeWhole(path.join(one, 'upgrade.json'), { step: 'migrate', id: 'u1', to: { version: '9.0.0' } });
  assert.match(startProblem(one, 5, '')!, /Run `platform upgrade --resume` to complete it/);
  assert.equal(startProblem(one, 5, 'u1'), null);
  writeWhole(path.join(one, 'upgrade.json'), { step: 'done', id: 'u1' });
  assert.equal(startProblem(one, 5, ''), null);
});
