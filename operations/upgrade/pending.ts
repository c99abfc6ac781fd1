// Whether a start upgrades its data folder, and the record of the upgrade. Every start loads this file, so it does not
// import the upgrade code. Called by `platform start` and upgrade.ts.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { hasTablesOfPlatform, readDataFolderRecord } from '#core/process/platform-record.ts';
import { schemaVersion } from '#postgres/schema-version.ts';
import { readUpgrade, writeUpgrade, type UpgradeState } from './state.ts';

const DATA = ['postgres', 'routes', 'artifacts', 'databases', 'known-database'];

/** Whether a data folder was last used by an older version, whose tables this version would migrate. */
export function isOlder(folder: string): boolean {
  if (!DATA.some((name) => existsSync(path.join(folder, name)))) return false;
  const record = readDataFolderRecord(folder);
  if (record !== null) return record.schema < schemaVersion();
  // Versions that wrote no such record had an embedded database, or recorded its address in another file.
  return hasTablesOfPlatform(folder);
}

/** The upgrade to this version that was interrupted during its trial, or null. */
export function interruptedUpgrade(folder: string): UpgradeState | null {
  const state = readUpgrade(folder);
  return state?.step === 'migrate' && state.to.schema === schemaVersion() ? state : null;
}

/** Marks that the new version has served requests: its upgrade can now be undone. */
export function endUpgrade(folder: string, state: UpgradeState): UpgradeState {
  const done: UpgradeState = { ...state, step: 'done' };
  writeUpgrade(folder, done);
  return done;
}
