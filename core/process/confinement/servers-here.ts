// Whether servers for Node would be run on this machine: asked before a build that would be for nothing, at the start
// of the platform and by `platform doctor`. The process that runs them (runtime/ssr/) finds out for itself.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nodeFolders } from './command-line.ts';
import { confinementOf } from './confinement.ts';
import type { Confinement } from './types.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** How servers would be kept from this machine, found out by trying. */
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
 * Why servers are not run here, in one line; null: they are, or the handlers of this machine have them run elsewhere.
 *
 * @example await noServersHere(process.env) // 'Servers for Node (kind: ssr, such as Next.js) are refused here: ...'
 */
export async function noServersHere(environment: Environment): Promise<string | null> {
  if ((environment['SSR_SOCKETS_DIR'] ?? '').trim() !== '') return null;
  return noServers(await serverConfinement(environment));
}

/** The same for a known confinement, which may be that of builds: servers do not share the machine's network. */
export function noServers({
  kind,
  reason,
  sharesNetwork,
}: Pick<Confinement, 'kind' | 'reason' | 'sharesNetwork'>): string | null {
  if (kind === 'namespaces' && sharesNetwork !== true) return null;
  const why = reason === null ? '' : `. ${reason.replaceAll(/\s+/g, ' ')}`;
  return `Servers for Node (kind: ssr, such as Next.js) are refused here: nothing keeps them from this machine${why}`;
}
