// Backups of a filled data folder and Postgres, and their restore, for the tests of both.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runBackup } from '#operations/backup/run.ts';
import { locationsOf } from '#operations/locations.ts';
import { openBackupAt } from '#operations/restore/find.ts';
import { restoreBackup } from '#operations/restore/restore.ts';
import { digestOfDatabase, digestOfFolder, fillDatabase, makeDataFolder } from './backups.ts';
import { createTestDatabase } from './postgres.ts';

export const PASSPHRASE = 'correct horse battery staple';
/** Folders that a backup holds. */
export const FOLDERS = ['routes', 'artifacts', 'repositories', 'databases', 'files'];

/** What is backed up, and where archives go. */
export interface BackupSource {
  /** The data folder. */
  readonly folder: string;
  readonly url: string;
  /** For archives, and what is restored. */
  readonly work: string;
  /** Makes an archive in `work`. */
  backUp(out: string, more?: Readonly<Record<string, string>>): ReturnType<typeof runBackup>;
  /** Restores an archive, or what lies in a bucket, into a folder. */
  restore(
    archive: string,
    to: string,
    url: string,
    more?: Readonly<Record<string, string>>,
    force?: boolean,
  ): ReturnType<typeof restoreBackup>;
  close(): Promise<void>;
}

export async function openBackupSource(): Promise<BackupSource> {
  const work = mkdtempSync(path.join(tmpdir(), 'platform-backups-'));
  const folder = await makeDataFolder();
  const database = await createTestDatabase();
  await fillDatabase(database.url);
  return {
    folder,
    work,
    url: database.url,
    backUp: (out, more = {}) =>
      runBackup({ folder, environment: { DATABASE_URL: database.url, ...more }, cwd: work, version: '0.1.0', out }),
    async restore(archive, to, url, more = {}, force = false) {
      const environment = { DATABASE_URL: url, ...more };
      const backup = await openBackupAt(archive, work, environment, more['BACKUP_PASSPHRASE'] ?? null);
      try {
        return await restoreBackup({ backup, locations: locationsOf(environment, to), force, withoutKeys: false });
      } finally {
        await backup.close();
      }
    },
    async close() {
      await database.close();
      rmSync(work, { recursive: true, force: true });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Cuts a restore off behind a step, and has the same command end it. */
export async function expectRestoreGoesOn(source: BackupSource, step: string): Promise<void> {
  const { folder, work } = source;
  const { location } = await source.backUp(`${step}.tar`, { BACKUP_PASSPHRASE: PASSPHRASE });
  const there = await makeDataFolder('what is there');
  const elsewhere = path.join(there, 'db-storage');
  renameSync(path.join(there, 'databases'), elsewhere);
  const target = await createTestDatabase();
  try {
    const before = digestOfFolder(there, ['routes', 'artifacts', 'repositories', 'files', 'secrets']);
    const databases = digestOfFolder(elsewhere, ['shop']);
    const environment = { DATABASE_URL: target.url, DB_STORAGE_DIR: elsewhere, BACKUP_PASSPHRASE: PASSPHRASE };
    const run = async (stopAt: string): Promise<string | null> => {
      const backup = await openBackupAt(location, work, environment, PASSPHRASE);
      const onStep = (at: string): void => {
        if (at === stopAt) throw new Error('cut off');
      };
      const locations = locationsOf(environment, there);
      try {
        return (await restoreBackup({ backup, locations: locations, force: true, withoutKeys: false, onStep })).aside;
      } finally {
        await backup.close();
      }
    };
    await assert.rejects(run(step), /cut off/);
    assert.equal(existsSync(path.join(there, 'restore.json')), step !== 'verified');
    const aside = (await run(''))!;
    assert.deepEqual(digestOfFolder(aside, ['routes', 'artifacts', 'repositories', 'files', 'secrets']), before);
    assert.deepEqual(digestOfFolder(`${elsewhere}-${path.basename(aside)}`, ['shop']), databases);
    const parts = ['routes', 'artifacts', 'repositories', 'files'];
    assert.deepEqual(digestOfFolder(there, parts), digestOfFolder(folder, parts));
    assert.deepEqual(await digestOfDatabase(target.url), await digestOfDatabase(source.url));
  } finally {
    await target.close();
    rmSync(there, { recursive: true });
  }
}
