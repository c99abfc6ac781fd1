// A data folder and a database belong together.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkInstallation } from '#core/process/installation.ts';

const [ONE, OTHER] = ['0b0f5c5e-6a0e-4d52-9d0c-3f8b5a0c1d11', '7a1f5c5e-6a0e-4d52-9d0c-3f8b5a0c1d22'];

test('a folder takes the id of its first database and refuses another one, with what to do', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'installation-'));
  t.after(() => rmSync(folder, { recursive: true }));
  checkInstallation(folder, ONE);
  checkInstallation(folder, ONE);
  assert.throws(() => checkInstallation(folder, OTHER), {
    message: `The data folder ${folder} belongs to installation ${ONE}, the database to ${OTHER}: two platforms never share a folder. Set FS_PATH to another one, or DATABASE_URL to the database of this one; to move to a new database, restore a backup into it (docs/backup.md)`,
  });
  checkInstallation(folder, ONE);
  assert.deepEqual(readdirSync(folder), ['installation']);
});
