// Checks whether the authority is reachable before Caddy requests a certificate, because Caddy lets a visitor's
// handshake wait for up to 90 s while it retries. Used by edge.ts.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import type { AcmeSettings } from './caddy-config.ts';

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';
/** How long a result is cached, so that many hosts that are requested at once share one check. */
const ANSWER_HOLDS_MS = 5000;

/**
 * Checks the authority; returns null when it is reachable, otherwise the reason. Never rejects.
 *
 * @param afresh ignores a cached result, but not a pending one.
 */
type AuthorityCheck = (afresh?: 'afresh') => Promise<string | null>;

/** @param waitMs timeout of one check. */
export function createAuthorityCheck(
  { url, rootFile }: AcmeSettings,
  waitMs: number,
  now: () => number = () => performance.now(),
): AuthorityCheck {
  let last: Promise<string | null> | null = null;
  let at = 0;
  let looking = false;
  return (afresh) => {
    if (last === null || (afresh !== undefined && !looking) || now() - at >= ANSWER_HOLDS_MS) {
      at = now();
      looking = true;
      last = look(url ?? LETS_ENCRYPT, rootFile, waitMs).finally(() => (looking = false));
    }
    return last;
  };
}

async function look(url: string, rootFile: string | null, waitMs: number): Promise<string | null> {
  try {
    const ca = rootFile === null ? undefined : readFileSync(rootFile);
    const status = await statusOf(url, ca, waitMs);
    return status < 500 ? null : `The authority does not work: it answers ${status} (${url})`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED')
      return `The authority's own certificate is not valid at this time (${code}): the clock of this machine, or of the authority, is wrong`;
    return `The authority does not answer: ${code ?? message} (${url})`;
  }
}

function statusOf(url: string, ca: Buffer | undefined, waitMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(waitMs);
    const sent = request(url, { agent: false, signal, ...(ca !== undefined && { ca }) }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', (error) => reject(signal.aborted ? new Error(`nothing came for ${waitMs} ms`) : error));
    sent.end();
  });
}
