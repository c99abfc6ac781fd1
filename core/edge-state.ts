// State that the edge (Caddy and runtime/edge/) writes to the data folder: its certificates, and why a certificate is
// missing. Written by runtime/edge/, read by the API and `platform doctor`. No keys.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The certificate of a host. */
export interface HostCertificate {
  /** The issuer, as in the certificate; null if not issued yet. */
  readonly issuer: string | null;
  /** ISO 8601; null if there is no certificate. */
  readonly notBefore: string | null;
  readonly expiresAt: string | null;
  /** Approximate time of renewal. */
  readonly renewsAt: string | null;
  /** Why issuance or renewal failed, in the authority's words, or the problem of the certificate. */
  readonly problem: string | null;
  /** The next attempt is made at this time or later. */
  readonly nextAttemptAt: string | null;
}

/** `edge/state.json` of the data folder. */
export interface EdgeState {
  readonly version: 1;
  /** ISO 8601. */
  readonly writtenAt: string;
  readonly caddy: string;
  /** By host; without an entry, the state of a host is unknown. */
  readonly certificates: Readonly<Record<string, HostCertificate>>;
}

/** The edge's folder in the data folder, only for the platform's own user. */
export function edgeFolder(dataFolder: string): string {
  return join(dataFolder, 'edge');
}

/** Maximum size of a state file, enough for 50,000 hosts. */
const BYTES_MAX = 32 * 1024 * 1024;

/**
 * Returns the state; reads the file again only after it has changed.
 *
 * @returns null if no edge has run on this data folder.
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
      // The file is being replaced: the next read finds it.
    }
    return state;
  };
}
