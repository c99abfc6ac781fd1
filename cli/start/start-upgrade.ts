// What `platform start` does before it starts a newer version on a data folder: the backup that `platform upgrade`
// would make, so that there is a way back. Called by commands/start.ts, which holds the lock of the folder.
import path from 'node:path';
import { beginUpgrade, endUpgrade, interruptedUpgrade, isOlder } from '#operations/upgrade/upgrade.ts';
import type { UpgradeState } from '#operations/upgrade/state.ts';
import type { Shell } from '../terminal/shell.ts';
import { packageFolder } from '../local/locations.ts';
import { programVersion } from '../local/program-version.ts';

/**
 * Begins an upgrade where one is due, or finds the one to this version that was cut off.
 *
 * @returns null: nothing changes, or somebody else upgrades. `UPGRADE_BACKUP=off`: no backup, and no way back.
 * @throws {BackupError} when the backup is not made; then nothing has changed.
 */
export async function upgradeOnStart(shell: Shell, folder: string): Promise<UpgradeState | null> {
  const { env } = shell;
  if ((env['PLATFORM_UPGRADE'] ?? '') !== '' || env['UPGRADE_BACKUP'] === 'off') return null;
  const interrupted = interruptedUpgrade(folder);
  if (interrupted !== null) return interrupted;
  if (!isOlder(folder)) return null;
  shell.out(`${folder} is of an older version: a backup is made first`);
  return beginUpgrade({
    folder,
    environment: env,
    version: programVersion(),
    program: path.resolve(packageFolder),
    launcher: path.join(packageFolder, 'cli', 'run.mjs'),
    say: (line) => shell.out(line),
  });
}

/** It serves: from now on `platform upgrade --undo` goes back. */
export function upgradeDone(folder: string, upgrade: UpgradeState | null): void {
  if (upgrade !== null) endUpgrade(folder, upgrade);
}
