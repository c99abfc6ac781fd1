// How far an upgrade of a data folder is, in `<FS_PATH>/upgrade.json`: written before each step, so that whoever comes
// after a kill -9 knows what is to be done. core/process/platform-record.ts reads it when a platform starts.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { readJson, UPGRADE_FILE, writeWhole } from '#core/process/platform-record.ts';

/** A version of the program. */
export interface Program {
  /** Null: it left no word of itself. */
  readonly version: string | null;
  /** Its folder; null: not known. */
  readonly program: string | null;
  /** Migrations of Postgres; null: there was no database. */
  readonly schema: number | null;
}

export interface UpgradeState {
  readonly id: string;
  /** `migrate`: the new version is tried; `done`; `undo`: going back. */
  readonly step: 'migrate' | 'done' | 'undo';
  readonly from: Program;
  readonly to: Program;
  /** The backup that was made before anything was changed. */
  readonly backup: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** Null: no upgrade is under way, and none can be undone. */
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
