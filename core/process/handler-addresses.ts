// Addresses of the handlers' private ports: `API_HANDLER_URL` has one or more origins. A host name with several
// addresses means all of them, such as a service with several containers. Used by the API process and the broker;
// without this variable, they ask Postgres (postgres/handler-machines.ts).
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** The handlers of an installation. */
export interface HandlerAddresses {
  /** Origins such as `http://10.0.0.7:8081`, one for each handler, in a stable order. */
  find(): Promise<readonly string[]>;
}

/** All addresses of a name; only IPv4 addresses if there are any. */
type Resolve = (name: string) => Promise<readonly string[]>;

/** How long a result is cached. Short enough that the next release sees handlers that have started or stopped. */
const KEPT_MS = 1000;
const ORIGINS_MAX = 100;

/**
 * The origins of `API_HANDLER_URL`.
 *
 * @throws {Error} when a value is not an http or https origin.
 * @example parseHandlerUrls('http://one:8081, http://two:8081') // ['http://one:8081', 'http://two:8081']
 */
export function parseHandlerUrls(text: string): string[] {
  const origins = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      const url = URL.parse(entry);
      const isOrigin =
        url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === `${entry.replace(/\/$/, '')}/`;
      if (isOrigin) return url.origin;
      throw new Error(
        'API_HANDLER_URL must be addresses of private ports without a path, such as http://handler:8081, with commas between several',
      );
    });
  if (origins.length > ORIGINS_MAX) throw new Error(`API_HANDLER_URL may name ${ORIGINS_MAX} addresses`);
  return [...new Set(origins)];
}

/** @param resolve for tests. */
export function openHandlerAddresses(
  origins: readonly string[],
  resolve: Resolve = resolveByDns,
  now: () => number = () => performance.now(),
): HandlerAddresses {
  // Whether no name needs to be resolved, because all origins have literal addresses or are this machine.
  const fixed = origins.every((origin) => !isName(new URL(origin)));
  let kept: readonly string[] = [];
  let keptUntil = -Infinity;
  let finding: Promise<readonly string[]> | null = null;
  async function findAll(): Promise<readonly string[]> {
    const found = await Promise.all(origins.map((origin) => addressesOf(origin, resolve)));
    kept = [...new Set(found.flat())].toSorted();
    keptUntil = now() + KEPT_MS;
    return kept;
  }
  return {
    find() {
      if (fixed) return Promise.resolve(origins);
      if (now() < keptUntil) return Promise.resolve(kept);
      finding ??= findAll().finally(() => (finding = null));
      return finding;
    },
  };
}

/** TLS origins keep the name, because the certificate is issued for it. */
function isName(url: URL): boolean {
  return url.protocol === 'http:' && url.hostname !== 'localhost' && isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0;
}

async function addressesOf(origin: string, resolve: Resolve): Promise<readonly string[]> {
  const url = new URL(origin);
  if (!isName(url)) return [origin];
  // If a name no longer resolves, its handler has been removed.
  const found = await resolve(url.hostname).catch(() => []);
  return found.map((address) => {
    url.hostname = isIP(address) === 6 ? `[${address}]` : address;
    return url.origin;
  });
}

async function resolveByDns(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  const four = found.filter(({ family }) => family === 4);
  return (four.length > 0 ? four : found).map(({ address }) => address);
}
