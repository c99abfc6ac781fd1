// Claims the public port and the data folder, which only one supervisor may use. Runs before anything starts.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { receiveSocket, type SentHandle } from '#core/process/socket-activation.ts';
import type { SupervisorConfig } from '../engines/configuration.ts';
import { claimPort } from '../engines/port.ts';
import { claimFolder } from '../data-folder/folder-claim.ts';
import { checkDataFolder, leaveFirstRecord, leaveRecord } from '../data-folder/platform-record.ts';
import { keepPrivate } from '../data-folder/private-folders.ts';

/** The claimed place. */
interface ClaimedPlace {
  /** The public port; the configured one if no engines run here. */
  readonly port: number;
  /** Call this function when an engine listens there. */
  shared(): void;
  /** Listening socket of the port, if systemd opened it. */
  readonly socket: SentHandle | null;
  /** Version of the program. */
  readonly version: string;
  /** Folder of the crash ledger; '' stores none. */
  readonly ledgerFolder: string;
  /** Records in the data folder which version has used it, once everything has started. */
  leaveRecord(): void;
}

/**
 * Claims the port and the folder until this process exits.
 *
 * @param onLost called when another platform has taken over the folder.
 * @throws {Error} when either belongs to another process, or the folder to a newer version.
 */
export async function claimPlace(
  { parts, host, port: wanted, folder }: SupervisorConfig,
  environment: NodeJS.ProcessEnv,
  onLost: (reason: string) => void,
): Promise<ClaimedPlace> {
  const ownsFolder = folder !== '' && parts.has('databases');
  const given = await receiveSocket(environment);
  const { port, shared } = parts.has('handler')
    ? await claimPort(host, given?.port ?? wanted, given !== null)
    : { port: wanted, shared() {} };
  if (folder !== '') keepPrivate(folder);
  if (ownsFolder) process.on('exit', await claimFolder(folder, { onLost }));
  // The folder is locked during this check, so that no restore begins afterwards.
  if (folder !== '') checkDataFolder(environment, folder);
  const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };
  const about = { version, program: join(import.meta.dirname, '../../..') };
  if (ownsFolder) leaveFirstRecord(environment, folder, about);
  return {
    port,
    shared,
    socket: given?.socket ?? null,
    version,
    // If several handlers use the folder, each has its own ledger.
    ledgerFolder: folder === '' || ownsFolder ? folder : cacheFolder(environment),
    leaveRecord() {
      if (ownsFolder) leaveRecord(environment, folder, about);
    },
  };
}
