// Progress of an upgrade, in `<FS_PATH>/upgrade.json`: written before each step, so that the next process can continue
// after a kill -9. core/process/platform-record.ts reads it when a platform starts.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { readJson, UPGRADE_FILE, writeWhole } from '#core/process/platform-record.ts';

/** A version of the program. */
interface Program {
  /** Version of the program; null if it left no version record. */
  readonly version: string | null;
  /** Folder of the release; null if unknown. */
  readonly program: string | null;
  /** Postgres migrations; null if there was no database. */
  readonly schema: number | null;
}

export interface UpgradeState {
  readonly id: string;
  /** `migrate`: the new version is being tried; `done`; `undo`: rolling back. */
  readonly step: 'migrate' | 'done' | 'undo';
  readonly from: Program;
  readonly to: Program;
  /** The backup created before any change; '' if other machines were running. */
  readonly backup: string;
  /** Whether this is a rolling upgrade, in which the previous version can use the new tables. */
  readonly isRolling?: boolean;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** Null if no upgrade is running, and no upgrade can be undone. */
export function readUpgrade(folder: string): UpgradeState | null {
  const state = readJson(path.join(folder, UPGRADE_FILE)) as UpgradeState | null;
  return typeof state?.id === 'string' && typeof state.backup === 'string' ? state : null;
}

export function writeUpgrade(folder: string, state: UpgradeState): void {
  writeWhole(path.join(folder, UPGRADE_FILE), state);
}

export function forgetUpgrade(folder: string): void {
  rmSync(path.join(folder, UPGRADE_FILE), { force: true });
}
