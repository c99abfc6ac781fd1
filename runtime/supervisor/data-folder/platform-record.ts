// Makes sure that a platform may work on its data folder: nothing there was cut off or is newer. Leaves word of what
// works there. Called by main.ts, which holds the lock of the folder.
import {
  hasTablesOfPlatform,
  readDataFolderRecord,
  recordedPlaces,
  startProblem,
  writeDataFolderRecord,
} from '#core/process/platform-record.ts';
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
  const record = { format: 1, ...about, schema, ...recordedPlaces(environment), startedAt } as const;
  const before = readDataFolderRecord(folder);
  const { startedAt: _before, ...old } = before ?? { startedAt };
  const { startedAt: _now, ...now } = record;
  if (JSON.stringify(old) !== JSON.stringify(now)) writeDataFolderRecord(folder, record);
}

/** The same before anything is made there: a first start that is cut off leaves no folder of an unknown version. */
export function leaveFirstRecord(
  environment: Environment,
  folder: string,
  about: { version: string; program: string },
): void {
  if (readDataFolderRecord(folder) === null && !hasTablesOfPlatform(folder)) leaveRecord(environment, folder, about);
}
