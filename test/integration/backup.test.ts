// A backup of a data folder and a Postgres, and its restore elsewhere: everything is back, compared by hash.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runBackup } from '#operations/backup/run.ts';
import { placesOf } from '#operations/places.ts';
import { openBackupAt } from '#operations/restore/find.ts';
import { restoreBackup } from '#operations/restore/restore.ts';
import { digestOfDatabase, digestOfFolder, fillDatabase, makeDataFolder } from '#test/setup/backups.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

const PASSPHRASE = 'correct horse battery staple';
const FOLDERS = ['routes', 'artifacts', 'repositories', 'databases', 'files'];
const work = mkdtempSync(path.join(tmpdir(), 'platform-backups-'));
let folder: string;
let source: Awaited<ReturnType<typeof createTestDatabase>>;

before(async () => {
  folder = await makeDataFolder();
  source = await createTestDatabase();
  await fillDatabase(source.url);
});
after(async () => {
  await source.close();
  rmSync(work, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
});

const backUp = (out: string, more: Record<string, string> = {}) =>
  runBackup({ folder, environment: { DATABASE_URL: source.url, ...more }, cwd: work, version: '0.1.0', out });

async function restore(archive: string, to: string, url: string, more: Record<string, string> = {}, force = false) {
  const environment = { DATABASE_URL: url, ...more };
  const backup = await openBackupAt(archive, work, environment, more['BACKUP_PASSPHRASE'] ?? null);
  try {
    return await restoreBackup({ backup, places: placesOf(environment, to), force, withoutKeys: false });
  } finally {
    await backup.close();
  }
}

test('an encrypted backup brings everything back, keys included, and only once without --force', async () => {
  const secret = { BACKUP_PASSPHRASE: PASSPHRASE };
  const report = await backUp('encrypted.tar', secret);
  assert.equal(report.hasKeys, true);
  assert.equal(statSync(report.location).mode & 0o777, 0o600);
  assert.equal(readFileSync(report.location).includes('shop'), false);
  const target = await createTestDatabase();
  const to = path.join(work, 'restored');
  try {
    await assert.rejects(restore(report.location, to, target.url), /The backup is encrypted/);
    await assert.rejects(
      restore(report.location, to, target.url, { BACKUP_PASSPHRASE: 'another passphrase' }),
      /The passphrase is not that of the backup/,
    );
    // The test's database has tables already, though no rows.
    await assert.rejects(restore(report.location, to, target.url, secret), /holds data of a platform/);
    await restore(report.location, to, target.url, secret, true);
    assert.deepEqual(digestOfFolder(to, FOLDERS), digestOfFolder(folder, FOLDERS));
    assert.deepEqual(await digestOfDatabase(target.url), await digestOfDatabase(source.url));
    assert.equal(readFileSync(path.join(to, 'secrets/encryption-key'), 'utf8'), `${'0123456789abcdef'.repeat(4)}\n`);
    assert.equal(statSync(path.join(to, 'secrets/encryption-key')).mode & 0o777, 0o600);
    assert.equal(existsSync(path.join(to, 'repositories/rep_1.git/hooks')), false);
    assert.equal(existsSync(path.join(to, 'restore.json')), false);
    await assert.rejects(restore(report.location, to, target.url, secret), /holds data of a platform/);
    const { aside } = await restore(report.location, to, target.url, secret, true);
    assert.deepEqual(digestOfFolder(aside!, FOLDERS), digestOfFolder(to, FOLDERS));
  } finally {
    await target.close();
  }
});

test('a backup without keys says so, and is restored only where the key is', async () => {
  const report = await backUp('plain.tar');
  assert.match(report.leftOut[0]!, /^The keys/);
  const target = await createTestDatabase();
  const to = path.join(work, 'keyless');
  try {
    await assert.rejects(
      restore(report.location, to, target.url, {}, true),
      /The variables and credentials in the backup are encrypted with a key that is not here/,
    );
    assert.equal(existsSync(path.join(to, 'routes')), false);
    await restore(report.location, to, target.url, { ENCRYPTION_KEY: '0123456789abcdef'.repeat(4) }, true);
    assert.equal(existsSync(path.join(to, 'secrets')), false);
  } finally {
    await target.close();
  }
});

test('a damaged archive changes nothing: cut off, a bit flipped, something after its end', async () => {
  const { location } = await backUp('whole.tar', { BACKUP_PASSPHRASE: PASSPHRASE });
  const target = await createTestDatabase();
  const to = path.join(work, 'never');
  const secret = { BACKUP_PASSPHRASE: PASSPHRASE };
  const untouched = await digestOfDatabase(target.url);
  const { size } = statSync(location);
  const tries: [string, (file: string) => void][] = [
    ['cut off', (file) => truncateSync(file, Math.floor(size / 2))],
    ['no end', (file) => truncateSync(file, size - 1024)],
    ['a bit', (file) => flip(file, Math.floor(size / 3))],
    ['more', (file) => appendFileSync(file, 'more')],
  ];
  try {
    for (const [name, damage] of tries) {
      const file = path.join(work, 'damaged.tar');
      writeFileSync(file, readFileSync(location));
      damage(file);
      await assert.rejects(
        restore(file, to, target.url, secret, true),
        { name: 'BackupError', reason: 'damaged' },
        name,
      );
      assert.equal(existsSync(path.join(to, 'routes')), false, name);
      assert.equal(existsSync(path.join(to, 'restore.json')), false, name);
    }
    assert.deepEqual(await digestOfDatabase(target.url), untouched);
  } finally {
    await target.close();
  }
});

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at]! ^= 1;
  writeFileSync(file, bytes);
}
