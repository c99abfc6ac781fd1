// What the edge (Caddy with runtime/edge/ beside it) leaves in the data folder for others to read: the certificates it
// has, and why it has none. Written by runtime/edge/, read by the API and `platform doctor`. No keys.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The certificate of a host. */
export interface HostCertificate {
  /** Who signed it, as the certificate says; null: there is none yet. */
  readonly issuer: string | null;
  /** ISO 8601; null where there is none. */
  readonly notBefore: string | null;
  readonly expiresAt: string | null;
  /** When it is renewed, about. */
  readonly renewsAt: string | null;
  /** Why it could not be had or renewed, in the authority's words, or what is wrong with it. */
  readonly problem: string | null;
  /** Until then the authority is not asked again. */
  readonly nextAttemptAt: string | null;
}

/** `edge/state.json` of the data folder. */
export interface EdgeState {
  readonly version: 1;
  /** ISO 8601. */
  readonly writtenAt: string;
  readonly caddy: string;
  /** By host; of hosts without an entry nothing is known. */
  readonly certificates: Readonly<Record<string, HostCertificate>>;
}

/** Folder of the edge in the data folder, for the platform's own user alone. */
export function edgeFolder(dataFolder: string): string {
  return join(dataFolder, 'edge');
}

/** Of a state file: 50,000 hosts. */
const BYTES_MAX = 32 * 1024 * 1024;

/**
 * Reads it anew only when it has changed.
 *
 * @returns null where no edge has run on this data folder.
 */
export function createEdgeStateReader(dataFolder: string): () => EdgeState | null {
  const file = join(edgeFolder(dataFolder), 'state.json');
  let stamp = '';
  let state: EdgeState | null = null;
  return () => {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined || found.size > BYTES_MAX) return null;
    const now = `${found.mtimeMs} ${found.size} ${found.ino}`;
    if (now === stamp) return state;
    try {
      const read = JSON.parse(readFileSync(file, 'utf8')) as EdgeState;
      state = read.version === 1 ? read : null;
      stamp = now;
    } catch {
      // Being replaced: the next look finds it.
    }
    return state;
  };
}
