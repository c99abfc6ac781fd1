// Makes sure that a platform may work on its data folder: nothing there was cut off or is newer. Leaves word of what
// works there. Called by main.ts, which holds the lock of the folder.
import { readDataFolderRecord, startProblem, writeDataFolderRecord } from '#core/process/platform-record.ts';
import { schemaVersion } from '#postgres/schema-version.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Looks whether a platform may start on a folder.
 *
 * @throws {Error} that says what stands in the way, and what to do.
 */
export function checkDataFolder(environment: Environment, folder: string): void {
  const problem = startProblem(folder, schemaVersion(), environment['PLATFORM_UPGRADE'] ?? '');
  if (problem !== null) throw new Error(problem);
}

/** Leaves word of what works on a folder, and with what: for backups, and for the start of another version. */
export function leaveRecord(
  environment: Environment,
  folder: string,
  about: { version: string; program: string },
): void {
  const schema = schemaVersion();
  const startedAt = new Date().toISOString();
  const record = { format: 1, ...about, schema, ...placesOf(environment), startedAt } as const;
  const before = readDataFolderRecord(folder);
  const { startedAt: _before, ...old } = before ?? { startedAt };
  const { startedAt: _now, ...now } = record;
  if (JSON.stringify(old) !== JSON.stringify(now)) writeDataFolderRecord(folder, record);
}

function placesOf(environment: Environment) {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const url = get('DATABASE_URL').toLowerCase();
  return {
    postgres: url === '' ? 'embedded' : url === 'none' ? 'none' : 'external',
    databases: get('DB_URL') === '' && get('DB_STORAGE_MODE') !== 'managed-cloud' ? 'folder' : 'elsewhere',
    files: get('FILES_S3_BUCKET') === '' ? 'disk' : 's3',
  } as const;
}
