// Whether this machine can isolate servers for Node. Checked before a build, at the start of the platform and by
// `platform doctor`. The process that runs servers (runtime/ssr/) makes its own check.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nodeFolders } from './command-line.ts';
import { confinementOf } from './confinement.ts';
import type { Confinement } from './types.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** How servers are isolated from this machine, determined by probing. */
export async function serverConfinement(environment: Environment): Promise<Confinement> {
  const folder = await mkdtemp(path.join(tmpdir(), 'platform-fence-'));
  try {
    return await confinementOf({
      workFolders: folder,
      privateFolders: [],
      readable: nodeFolders(),
      needs: process.execPath,
      isOffline: true,
      environment,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The reason, in one line, why servers cannot run here; null if they can, or if handlers of this machine use the
 * servers of another container.
 *
 * @example await noServersHere(process.env) // 'Servers for Node (kind: ssr, such as Next.js) are refused here: ...'
 */
export async function noServersHere(environment: Environment): Promise<string | null> {
  if ((environment['SSR_SOCKETS_DIR'] ?? '').trim() !== '') return null;
  return noServers(await serverConfinement(environment));
}

/** The reason for a known confinement, such as that of builds: servers must not share the machine's network. */
export function noServers({
  kind,
  reason,
  sharesNetwork,
}: Pick<Confinement, 'kind' | 'reason' | 'sharesNetwork'>): string | null {
  if (kind === 'namespaces' && sharesNetwork !== true) return null;
  const why = reason === null ? '' : `. ${reason.replaceAll(/\s+/g, ' ')}`;
  return `Servers for Node (kind: ssr, such as Next.js) are refused: they cannot be isolated on this machine${why}`;
}
