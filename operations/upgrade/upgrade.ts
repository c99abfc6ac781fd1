// Upgrades a data folder to this version of the program: a backup, then a trial start, and a rollback to the backup if
// the trial fails. Each step is recorded before it runs (state.ts). Called by `platform upgrade` and when a newer
// version starts.
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  readDataFolderRecord,
  RESTORE_FILE,
  writeDataFolderRecord,
  type DataFolderRecord,
} from '#core/process/platform-record.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { countMigrations } from '#postgres/ledger.ts';
import { schemaVersion } from '#postgres/schema-version.ts';
import { backupError } from '../archive/backup-error.ts';
import { openArchiveFile } from '../archive/archive-file.ts';
import { openBackup } from '../archive/reader.ts';
import { runBackup } from '../backup/run.ts';
import { checkLocations, openDatabase, locationsOf, type Environment, type Locations } from '../locations.ts';
import { restoreBackup } from '../restore/restore.ts';
import { endUpgrade } from './pending.ts';
import { forgetUpgrade, readUpgrade, writeUpgrade, type UpgradeState } from './state.ts';
import { tryVersion } from './trial.ts';

/** Options of an upgrade. */
export interface UpgradeOptions {
  readonly folder: string;
  readonly environment: Environment;
  /** This program. */
  readonly version: string;
  readonly program: string;
  readonly launcher: string;
  readonly say: (line: string) => void;
}

/** Result of an upgrade. */
interface UpgradeReport {
  readonly state: UpgradeState;
  /** Projects that do not respond. */
  readonly silent: readonly string[];
}

/**
 * Makes the backup that precedes an upgrade, and records that the upgrade has started.
 *
 * @throws {Failure} `backup` when the platform runs, an upgrade was interrupted, or the backup fails; nothing has then
 * changed.
 */
export async function beginUpgrade(options: UpgradeOptions): Promise<UpgradeState> {
  const { folder, environment, version, program, say } = options;
  const before = readUpgrade(folder);
  if (before !== null && before.step !== 'done')
    throw backupError(
      'unfinished',
      `An upgrade of ${folder} to ${before.to.version ?? 'another version'} was interrupted`,
      'Run `platform upgrade --resume` to complete it, or `platform upgrade --undo` to go back.',
    );
  checkLocations(locationsOf(environment, folder));
  const record = readDataFolderRecord(folder);
  if (record !== null && record.schema > schemaVersion())
    throw backupError(
      'newer',
      `${folder} was written by a newer version (${record.version}) than this one (${version})`,
      `To go back to an older version, run \`platform upgrade --undo\` of the newer one: ${record.program}.`,
    );
  say('Backing up');
  const backup = await runBackup({
    folder,
    environment: { ...environment, BACKUP_PASSPHRASE: '', BACKUP_PASSPHRASE_FILE: '' },
    cwd: folder,
    version: record?.version ?? 'unknown',
    out: path.join(folder, 'backups', `before-upgrade-${new Date().toISOString().replace(/[:.]/g, '-')}.tar`),
    withKeys: true,
    keep: null,
  });
  say(`Backed up to ${backup.location}`);
  const state: UpgradeState = {
    id: randomBytes(8).toString('hex'),
    step: 'migrate',
    from: { version: record?.version ?? null, program: record?.program ?? null, schema: backup.schema },
    to: { version, program, schema: schemaVersion() },
    backup: backup.location,
    startedAt: new Date().toISOString(),
  };
  writeUpgrade(folder, state);
  return state;
}

/**
 * Upgrades a data folder to this version.
 *
 * @param resume whether to resume an interrupted upgrade.
 * @throws {Failure} `backup` also when the new version fails its trial: then everything is as before.
 */
export async function upgrade(options: UpgradeOptions, resume: boolean): Promise<UpgradeReport> {
  const { folder, environment, launcher, say } = options;
  const found = readUpgrade(folder);
  if (resume && found?.step !== 'migrate')
    throw backupError('settings', `No upgrade of ${folder} was interrupted`, '`platform upgrade` starts one.');
  if (resume && found!.to.schema !== schemaVersion())
    throw backupError(
      'settings',
      `The interrupted upgrade was to ${found!.to.version} in ${found!.to.program}, and this is another version`,
      'Run the command with that version, or go back with `platform upgrade --undo`.',
    );
  const release = stopped(folder);
  const state = await (resume ? Promise.resolve(found!) : beginUpgrade(options)).finally(release);
  say('Trying this version');
  try {
    const silent = await tryVersion(launcher, environment, folder, state.id);
    return { state: endUpgrade(folder, state), silent };
  } catch (error) {
    say('The new version failed its trial: going back');
    await undoUpgrade(options);
    throw backupError(
      'failed',
      `The upgrade failed: ${(error as Error).message}`,
      `Everything is as it was: start the version before${state.from.program === null ? '' : `, in ${state.from.program}`}.`,
      { cause: error },
    );
  }
}

/**
 * Rolls back the last upgrade. If the previous version uses the same tables, only the program changes; otherwise the
 * backup is restored, and data written since is set aside.
 *
 * @throws {Failure} `backup` when there is no upgrade to undo, or the platform runs.
 */
export async function undoUpgrade(
  options: UpgradeOptions,
): Promise<{ readonly state: UpgradeState; readonly aside: string | null; readonly restored: boolean }> {
  const { folder, environment, say } = options;
  const state = readUpgrade(folder);
  if (state === null)
    throw backupError(
      'settings',
      `There is no upgrade of ${folder} to undo`,
      '`platform restore` goes back to any backup.',
    );
  const locations = locationsOf(environment, folder);
  const release = stopped(folder);
  let isSame: boolean;
  try {
    writeUpgrade(folder, { ...state, step: 'undo' });
    isSame =
      state.isRolling === true ||
      (!existsSync(path.join(folder, RESTORE_FILE)) && (await schemaOf(locations)) === state.from.schema);
    if (!isSame && typeof locations.postgres === 'object' && !existsSync(path.join(folder, RESTORE_FILE))) {
      say('Backing up the current data');
      const { location } = await runBackup({
        ...options,
        cwd: folder,
        withKeys: true,
        keep: null,
        out: presentOf(folder),
      });
      say(`Backed up to ${location}`);
    }
  } finally {
    release();
  }
  let aside: string | null = null;
  if (!isSame) {
    say(`Restoring ${state.backup}`);
    const backup = await openBackup(await openArchiveFile(state.backup), null);
    try {
      ({ aside } = await restoreBackup({ backup, locations, force: true, withoutKeys: true }));
    } finally {
      await backup.close();
    }
  }
  const { from } = state;
  const record = readDataFolderRecord(folder);
  if (record !== null && from.version !== null && from.program !== null && from.schema !== null)
    writeDataFolderRecord(folder, {
      ...record,
      version: from.version,
      program: from.program,
      schema: from.schema,
    } satisfies DataFolderRecord);
  else rmSync(path.join(folder, 'platform.json'), { force: true });
  forgetUpgrade(folder);
  return { state, aside, restored: !isSame };
}

function presentOf(folder: string): string {
  return path.join(folder, 'backups', `before-undo-${new Date().toISOString().replace(/[:.]/g, '-')}.tar`);
}

/** Applied migrations of a database, or null. */
async function schemaOf(locations: Locations): Promise<number | null> {
  const database = await openDatabase(locations, false);
  if (database === null) return null;
  try {
    return await countMigrations((text) => database.sql.unsafe(text));
  } finally {
    await database.close();
  }
}

/** Prevents a platform from starting. @throws {Failure} `backup` when one runs. */
function stopped(folder: string): () => void {
  const locks = ['start', 'databases'].map((name) => takeLock(path.join(folder, 'locks', name)));
  const release = (): void => locks.forEach((lock) => lock?.release());
  if (locks.every((lock) => lock !== null)) return release;
  release();
  throw backupError(
    'running',
    `The platform runs on ${folder}`,
    'Stop the platform first: two versions must not use the same data folder.',
  );
}
