// Verifies that a platform may use its data folder: no operation was interrupted, and its version is not newer.
// Records the platform that uses the folder. Called by main.ts, which holds the lock of the folder.
import {
  hasTablesOfPlatform,
  readDataFolderRecord,
  recordedLocations,
  startProblem,
  writeDataFolderRecord,
} from '#core/process/platform-record.ts';
import { schemaVersion } from '#postgres/schema-version.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Checks whether a platform may start on a folder.
 *
 * @throws {Error} that names the obstacle and the solution.
 */
export function checkDataFolder(environment: Environment, folder: string): void {
  const problem = startProblem(folder, schemaVersion(), environment['PLATFORM_UPGRADE'] ?? '');
  if (problem !== null) throw new Error(problem);
}

/** Records which platform uses a folder, and its settings: for backups, and for starting another version. */
export function leaveRecord(
  environment: Environment,
  folder: string,
  about: { version: string; program: string },
): void {
  const schema = schemaVersion();
  const startedAt = new Date().toISOString();
  const record = { format: 1, ...about, schema, ...recordedLocations(environment), startedAt } as const;
  const before = readDataFolderRecord(folder);
  const { startedAt: _before, ...old } = before ?? { startedAt };
  const { startedAt: _now, ...now } = record;
  if (JSON.stringify(old) !== JSON.stringify(now)) writeDataFolderRecord(folder, record);
}

/**
 * The same check before the folder is created, so that an interrupted first start leaves no folder of unknown version.
 */
export function leaveFirstRecord(
  environment: Environment,
  folder: string,
  about: { version: string; program: string },
): void {
  if (readDataFolderRecord(folder) === null && !hasTablesOfPlatform(folder)) leaveRecord(environment, folder, about);
}
