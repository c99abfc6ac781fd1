// The platform's record in its data folder, `platform.json`: the version that uses it, and its settings. Also detects
// obstacles to a start: an interrupted restore or upgrade, a newer version. Written by the supervisor; read by the
// supervisor and by operations/.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `platform.json`. */
export interface DataFolderRecord {
  readonly format: 1;
  /** Version of the platform that last used the folder. */
  readonly version: string;
  /** Folder of the platform's program. */
  readonly program: string;
  /** Its Postgres migrations. */
  readonly schema: number;
  readonly postgres: 'embedded' | 'external' | 'none';
  readonly databases: 'folder' | 'elsewhere';
  readonly files: 'disk' | 's3';
  /** ISO 8601. */
  readonly startedAt: string;
}

const FILE = 'platform.json';
/** A restore that is running, or was interrupted. */
export const RESTORE_FILE = 'restore.json';
/** An upgrade that is running, was interrupted, or can be undone. */
export const UPGRADE_FILE = 'upgrade.json';

/** The record of a data folder; null if it is missing, or an older version's. */
export function readDataFolderRecord(folder: string): DataFolderRecord | null {
  const record = readJson(join(folder, FILE)) as DataFolderRecord | null;
  return record?.format === 1 && Number.isInteger(record.schema) ? record : null;
}

/** Data locations in the record, by variable. */
export function recordedLocations(
  environment: Readonly<Record<string, string | undefined>>,
): Pick<DataFolderRecord, 'postgres' | 'databases' | 'files'> {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const url = get('DATABASE_URL').toLowerCase();
  return {
    postgres: url === '' ? 'embedded' : url === 'none' ? 'none' : 'external',
    databases: get('DB_URL') === '' && get('DB_STORAGE_MODE') !== 'managed-cloud' ? 'folder' : 'elsewhere',
    files: get('FILES_S3_BUCKET') === '' ? 'disk' : 's3',
  };
}

/** Whether Postgres, embedded or external, was ever used, so that a new version must migrate it. */
export function hasTablesOfPlatform(folder: string): boolean {
  return existsSync(join(folder, 'postgres')) || existsSync(join(folder, 'known-database'));
}

export function writeDataFolderRecord(folder: string, record: DataFolderRecord): void {
  writeWhole(join(folder, FILE), record);
}

/** Writes a file atomically, readable only by its owner. */
export function writeWhole(file: string, value: unknown): void {
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(beside, file);
}

/** Null if the file is missing or not JSON. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/**
 * Why no platform may start on a data folder; null if it may.
 *
 * @param schema migrations of this version.
 * @param upgrade id of the upgrade that starts it as a health check; '' otherwise.
 */
export function startProblem(folder: string, schema: number, upgrade: string): string | null {
  const restore = join(folder, RESTORE_FILE);
  if (existsSync(restore)) {
    const { archive = 'the backup' } = (readJson(restore) ?? {}) as { archive?: string };
    return `A restore of ${archive} into ${folder} was interrupted, and its data is incomplete. Run \`platform restore ${archive} --force\` again`;
  }
  const state = readJson(join(folder, UPGRADE_FILE)) as {
    step?: string;
    id?: string;
    to?: { version?: string };
  } | null;
  if (state !== null && (state.step === 'migrate' || state.step === 'undo') && (upgrade === '' || state.id !== upgrade))
    return state.step === 'migrate'
      ? `The upgrade of ${folder} to ${state.to?.version ?? 'a newer version'} was interrupted. Run \`platform upgrade --resume\` to complete it, or \`platform upgrade --undo\` to go back`
      : `A rollback of ${folder} was interrupted. Run \`platform upgrade --undo\` again`;
  const record = readDataFolderRecord(folder);
  if (record !== null && record.schema > schema)
    return `${folder} was written by a newer version of the platform (${record.version}, in ${record.program}): start that one, or go back with its \`platform upgrade --undo\``;
  return null;
}
