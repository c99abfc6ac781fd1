// DNS lookups that verify custom domains. Called by control/domains/. Responses come from untrusted name servers: the
// resolver limits their time, this file their number.
import { Resolver } from 'node:dns/promises';

const WAIT_MS = 3000;
const TRIES = 2;
const RECORDS_MAX = 100;

/** Records of a name; empty if there are none. @throws {Error} with the DNS error code if the lookup fails. */
export interface NameRecords {
  /** TXT records, each with its chunks joined. */
  readonly txt: (name: string) => Promise<readonly string[]>;
  /** Targets of CNAME records, in lower case without a trailing dot. */
  readonly cname: (name: string) => Promise<readonly string[]>;
  /** IPv4 and IPv6 addresses. */
  readonly addresses: (name: string) => Promise<readonly string[]>;
}

/**
 * Creates a resolver.
 *
 * @param servers `address` or `address:port`, comma-separated; '' means the name servers of the system. @throws {Error}
 * for invalid ones.
 */
export function openNameRecords(servers: string): NameRecords {
  const list = servers.split(',').flatMap((server) => server.trim() || []);
  const resolver = (): Resolver => {
    const made = new Resolver({ timeout: WAIT_MS, tries: TRIES });
    if (list.length > 0) made.setServers(list);
    return made;
  };
  try {
    resolver();
  } catch {
    throw new Error(`API_DNS_SERVERS is "${servers}": it must be a comma-separated list of name server addresses`);
  }
  return {
    txt: async (name) => (await orNone(resolver().resolveTxt(name))).map((parts) => parts.join('')),
    cname: async (name) =>
      (await orNone(resolver().resolveCname(name))).map((target) => target.toLowerCase().replace(/\.$/, '')),
    async addresses(name) {
      const asking = resolver();
      const [four, six] = await Promise.all([orNone(asking.resolve4(name)), orNone(asking.resolve6(name))]);
      return [...four, ...six];
    },
  };
}

async function orNone<Record>(looking: Promise<Record[]>): Promise<Record[]> {
  try {
    return (await looking).slice(0, RECORDS_MAX);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
    throw error;
  }
}
