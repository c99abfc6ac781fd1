// Backs up an older data folder before `platform start` runs a newer version on it, so that the upgrade can be undone,
// as in `platform upgrade`. Called by commands/start.ts, which holds the lock of the folder.
import path from 'node:path';
import { endUpgrade, interruptedUpgrade, isOlder } from '#operations/upgrade/pending.ts';
import type { UpgradeState } from '#operations/upgrade/state.ts';
import type { Shell } from '../terminal/shell.ts';
import { packageFolder } from '../local/locations.ts';
import { programVersion } from '../local/program-version.ts';

/**
 * Starts a pending upgrade, or resumes an interrupted upgrade to this version.
 *
 * @returns null if no upgrade is needed, or another process upgrades. With `UPGRADE_BACKUP=off` there is no backup and
 * no undo. @throws {Failure} `backup` if the backup fails; nothing has then changed.
 */
export async function upgradeOnStart(shell: Shell, folder: string): Promise<UpgradeState | null> {
  const { env } = shell;
  if ((env['PLATFORM_UPGRADE'] ?? '') !== '' || env['UPGRADE_BACKUP'] === 'off') return null;
  const interrupted = interruptedUpgrade(folder);
  if (interrupted !== null) return interrupted;
  if (!hasRecord(env) || !isOlder(folder)) return null;
  shell.out(`${folder} has an older version: creating a backup first`);
  const { beginUpgrade } = await import('#operations/upgrade/upgrade.ts');
  return beginUpgrade({
    folder,
    environment: env,
    version: programVersion(),
    program: path.resolve(packageFolder),
    launcher: path.join(packageFolder, 'cli', 'run.mjs'),
    say: (line) => shell.out(line),
  });
}

/** Completes the upgrade; from now on `platform upgrade --undo` reverts it. */
export function upgradeDone(folder: string, upgrade: UpgradeState | null): void {
  if (upgrade !== null) endUpgrade(folder, upgrade);
}

/** Whether the data folder records a version. A machine without project databases has no such record. */
function hasRecord({ PLATFORM_PARTS: parts = '' }: Shell['env']): boolean {
  return parts.trim() === '' || parts.split(',').some((part) => part.trim() === 'databases');
}
