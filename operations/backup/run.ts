// One backup as run by commands and schedules: reads its settings from variables, allows one backup at a time per data
// folder, deletes old backups, and records the result for `platform doctor`. Called by cli/commands/backup.ts, main.ts
// and the upgrade.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseInteger } from '#core/parse-integer.ts';
import { beginRun, endRun } from '#core/process/backup-runs.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { backupError } from '../archive/backup-error.ts';
import type { BackupProgress } from '../archive/writer.ts';
import { checkLocations, locationsOf, type Environment, type Locations } from '../locations.ts';
import { makeBackup, type BackupReport } from './backup.ts';
import { removeOldBackups } from './retention.ts';
import { parseTarget } from './target.ts';

/** Options that override variables. */
interface RunOptions {
  readonly folder: string;
  readonly environment: Environment;
  readonly cwd: string;
  readonly version: string;
  /** Default: `BACKUP_TARGET`, else `<FS_PATH>/backups/`. */
  readonly out?: string | undefined;
  /** Default: only if the backup is encrypted. */
  readonly withKeys?: boolean | undefined;
  /** Default: files in a bucket are not included. */
  readonly withBucket?: boolean | undefined;
  /** By default `BACKUP_KEEP`; null deletes no backups. */
  readonly keep?: number | null;
  readonly onProgress?: (progress: BackupProgress) => void;
}

const BACKUP_KEEP = 7;

/** @throws {Failure} `backup` with how to fix it. */
export async function runBackup(options: RunOptions): Promise<BackupReport & { readonly removed: readonly string[] }> {
  const { folder, environment } = options;
  const locations = locationsOf(environment, folder);
  checkLocations(locations);
  const lock = takeLock(backupLock(folder));
  if (lock === null)
    throw backupError(
      'running',
      `A backup of ${folder} is already running`,
      'Wait until the other backup has finished.',
    );
  const run = beginRun(folder);
  try {
    const report = await backUp(options, locations);
    const { location, bytes, writtenBytes, removed, notRemoved } = report;
    if (notRemoved !== null)
      throw backupError(
        'failed',
        `${location} was created, but older backups were not deleted: ${notRemoved.message}`,
        'Remove the old backups yourself, or check why they cannot be removed.',
        { cause: notRemoved },
      );
    endRun(folder, run, { location, bytes, writtenBytes }, removed);
    return report;
  } catch (error) {
    endRun(folder, run, { error: (error as Error).message });
    throw error;
  } finally {
    lock.release();
  }
}

/** Lock held while the folder is backed up. */
function backupLock(folder: string): string {
  return path.join(folder, 'locks', 'backup');
}

async function backUp(
  options: RunOptions,
  locations: Locations,
): Promise<BackupReport & { readonly removed: readonly string[]; readonly notRemoved: Error | null }> {
  const { folder, environment, cwd, version, onProgress } = options;
  const target = targetOf(environment, folder, cwd, options.out);
  const passphrase = passphraseOf(environment);
  const keep = options.keep === undefined ? keepOf(environment) : options.keep;
  const report = await makeBackup({
    locations,
    target,
    passphrase,
    withKeys: options.withKeys ?? passphrase !== null,
    withBucket: options.withBucket ?? false,
    version,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  try {
    const removed = keep === null ? [] : await removeOldBackups(target, keep, passphrase);
    return { ...report, removed, notRemoved: null };
  } catch (error) {
    return { ...report, removed: [], notRemoved: error as Error };
  }
}

/** Where to store backups: the requested target, else `BACKUP_TARGET`, else a folder of the data folder. */
export function targetOf(environment: Environment, folder: string, cwd: string, out?: string) {
  const text = out || environment['BACKUP_TARGET']?.trim() || `${path.join(folder, 'backups')}/`;
  return parseTarget(text, cwd, environment);
}

/**
 * `BACKUP_PASSPHRASE`, or the content of the file `BACKUP_PASSPHRASE_FILE`; null if neither is set. @throws {Failure}
 * `backup`
 */
export function passphraseOf(environment: Environment): string | null {
  const given = environment['BACKUP_PASSPHRASE'] ?? '';
  if (given !== '') return given;
  const file = environment['BACKUP_PASSPHRASE_FILE']?.trim() ?? '';
  if (file === '') return null;
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw backupError(
      'settings',
      `BACKUP_PASSPHRASE_FILE cannot be read: ${(error as Error).message}`,
      'Name a file with the passphrase on its only line.',
    );
  }
}

/** How many backups to keep. @throws {Failure} `backup` */
export function keepOf(environment: Environment): number {
  const text = environment['BACKUP_KEEP']?.trim() ?? '';
  try {
    return text === '' ? BACKUP_KEEP : parseInteger('BACKUP_KEEP', text, { least: 1, most: 10_000 });
  } catch (error) {
    throw backupError('settings', (error as Error).message, 'Set the variable to a whole number, or unset it.');
  }
}
