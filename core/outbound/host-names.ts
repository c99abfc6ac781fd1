// Resolves the host names that workers connect to, without addresses that the egress policy forbids. Used for every
// connection of fetch and of WebSockets. Public names are resolved without a thread. getaddrinfo occupies a thread
// while a server does not respond, so a worker whose own name server never answers would block name resolution for all
// others.
import { lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile, stat } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { mayConnect, type EgressPolicy } from '../egress.ts';
import { PlatformError } from '../errors.ts';

/** Name resolution settings. */
interface HostNameSources {
  /** Addresses of name servers, with a port unless it is 53; if there are none, those of the system. */
  readonly servers: readonly string[];
  readonly hostsFile?: string;
  /** Maximum number of concurrent lookups; default 10,000. */
  readonly namesMax?: number;
}

interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** A server that does not respond is queried twice, for 2.5 s and 5 s. */
const resolverOptions = { timeout: 2500, tries: 2 };
/** The system's name servers may change while the engine runs. */
const RESOLVER_MS = 30_000;
/** How long an IPv4 address waits for an IPv6 address (RFC 8305). */
const SECOND_FAMILY_MS = 50;

/**
 * Maximum number of concurrent lookups in the process. c-ares numbers its queries with 16 bits, two per name, and
 * searches endlessly for a free number if there is none.
 */
const NAMES_MAX = 10_000;

const lookupAll = promisify(lookup);

/**
 * A `lookup` for `net.connect` under a policy. Fails with `egress_forbidden` if all addresses of a name are forbidden.
 */
export function guardedLookup(policy: EgressPolicy, sources: HostNameSources = { servers: [] }): LookupFunction {
  const resolve = createResolve(sources);
  return (hostname, options, callback) => {
    resolve(hostname.toLowerCase().replace(/\.$/, '')).then(
      (addresses) => {
        const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : (options.family ?? 0);
        const allowed = addresses.filter(
          (one) => (family === 0 || one.family === family) && mayConnect(one.address, policy),
        );
        const [first] = allowed;
        if (first === undefined) callback(new PlatformError('egress_forbidden', { address: hostname }), '');
        else if (options.all === true)
          (callback as unknown as (error: null, addresses: readonly Address[]) => void)(null, allowed);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

/**
 * Limits the lookups of one tenant. If the server of a name does not respond, the lookup takes seconds, even after the
 * caller gave up.
 *
 * @param lookup from {@link guardedLookup}. @param most maximum number of concurrent lookups; further lookups fail with
 *   `quota_exceeded`.
 */
export function limitedLookup(lookup: LookupFunction, most: number): LookupFunction {
  let running = 0;
  return (hostname, options, callback) => {
    if (running >= most)
      return callback(new PlatformError('quota_exceeded', { what: 'Another DNS lookup', limit: most }), '');
    running++;
    lookup(hostname, options, (...found) => {
      running--;
      callback(...found);
    });
  };
}

/**
 * Looks names up, under no policy. @returns a function that resolves to the addresses of a name, or rejects with a
 * `code`, such as `ENOTFOUND`.
 */
export function createResolve(
  { servers, hostsFile = '/etc/hosts', namesMax = NAMES_MAX }: HostNameSources = { servers: [] },
): (name: string) => Promise<readonly Address[]> {
  let resolver: Resolver | null = null;
  let madeAt = 0;
  const hosts = createHosts(hostsFile);
  const current = (): Resolver => {
    if (resolver === null || performance.now() - madeAt > RESOLVER_MS) {
      resolver = new Resolver(resolverOptions);
      if (servers.length > 0) resolver.setServers(servers);
      madeAt = performance.now();
    }
    return resolver;
  };
  async function find(name: string): Promise<readonly Address[]> {
    if (isIP(name) !== 0) return [{ address: name, family: isIP(name) as 4 | 6 }];
    // Resolves names of this machine and its network, which name servers may not know.
    if (!name.includes('.') || name.endsWith('.localhost') || name.endsWith('.local')) return await systemLookup(name);
    const known = (await hosts()).get(name);
    if (known !== undefined) return known;
    try {
      return await ask(current(), name);
    } catch (error) {
      // The system may know names that its name servers do not, for instance names of a private network.
      const { code } = error as NodeJS.ErrnoException;
      if ((code === 'ENOTFOUND' || code === 'ENODATA') && servers.length === 0) return await systemLookup(name);
      throw error;
    }
  }
  /** Concurrent lookups of a name share one query. */
  const asked = new Map<string, Promise<readonly Address[]>>();
  return async (name) => {
    const known = asked.get(name);
    if (known !== undefined) return known;
    if (asked.size >= namesMax) throw Object.assign(new Error('too many names are looked up'), { code: 'EAI_AGAIN' });
    const finding = find(name).finally(() => asked.delete(name));
    asked.set(name, finding);
    return finding;
  };
}

async function systemLookup(name: string): Promise<Address[]> {
  return (await lookupAll(name, { all: true })) as Address[];
}

async function ask(resolver: Resolver, name: string): Promise<Address[]> {
  const four = resolver
    .resolve4(name)
    .then((addresses) => addresses.map((address) => ({ address, family: 4 as const })));
  const six = resolver
    .resolve6(name)
    .then((addresses) => addresses.map((address) => ({ address, family: 6 as const })));
  four.catch(() => {});
  six.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  try {
    const first = await four;
    const soon = new Promise<[]>((resolve) => (timer = setTimeout(resolve, SECOND_FAMILY_MS, [])));
    return [...first, ...(await Promise.race([six.catch(() => []), soon]))];
  } catch (error) {
    try {
      return await six;
    } catch {
      throw error;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** The machine's hosts file, read again when it has changed. */
function createHosts(file: string): () => Promise<ReadonlyMap<string, readonly Address[]>> {
  let table: ReadonlyMap<string, readonly Address[]> = new Map();
  let readOf = -1;
  return async () => {
    try {
      const { mtimeMs } = await stat(file);
      if (mtimeMs !== readOf) {
        table = hostsOf(await readFile(file, 'utf8'));
        readOf = mtimeMs;
      }
    } catch {
      table = new Map();
    }
    return table;
  };
}

/** Parses a text in the format of /etc/hosts. */
export function hostsOf(text: string): Map<string, Address[]> {
  const table = new Map<string, Address[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names)
      table.set(name.toLowerCase(), [...(table.get(name.toLowerCase()) ?? []), { address, family: family as 4 | 6 }]);
  }
  return table;
}
