// How the last backup of a data folder went, in `<FS_PATH>/last-backup.json`. Written by run.ts, read by the checks.
import path from 'node:path';
import { readJson, writeWhole } from '#core/process/platform-record.ts';

export interface LastBackup {
  /** ISO 8601, its end. */
  readonly at: string;
  readonly location: string | null;
  readonly bytes: number;
  /** Null: it was made. */
  readonly error: string | null;
  /** The last that was made, where this one was not. */
  readonly lastGoodAt: string | null;
}

const FILE = 'last-backup.json';

/** Null: there was none. */
export function lastBackup(folder: string): LastBackup | null {
  const found = readJson(path.join(folder, FILE)) as LastBackup | null;
  return typeof found?.at === 'string' ? found : null;
}

export function noteBackup(folder: string, how: Pick<LastBackup, 'location' | 'bytes' | 'error'>): void {
  const at = new Date().toISOString();
  const lastGoodAt = how.error === null ? at : (lastBackup(folder)?.lastGoodAt ?? null);
  try {
    writeWhole(path.join(folder, FILE), { at, ...how, lastGoodAt } satisfies LastBackup);
  } catch {
    // The backup's own error says more: the folder is not there, or full.
  }
}
