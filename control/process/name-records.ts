// Looks up DNS records, which prove who may use a domain and where it leads. Called by control/domains/. Answers of
// strangers' name servers: bounded in time by the resolver, in number here.
import { Resolver } from 'node:dns/promises';

const WAIT_MS = 3000;
const TRIES = 2;
const RECORDS_MAX = 100;

/** Records of a name, none where there are none. @throws {Error} with the code of DNS where nobody can say. */
export interface NameRecords {
  /** Texts of TXT records, their parts joined. */
  readonly txt: (name: string) => Promise<readonly string[]>;
  /** Where a CNAME leads, in lower case without a dot at its end. */
  readonly cname: (name: string) => Promise<readonly string[]>;
  /** IPv4 and IPv6 addresses. */
  readonly addresses: (name: string) => Promise<readonly string[]>;
}

/**
 * Asks the system's name servers, or others.
 *
 * @param servers `address` or `address:port`, comma-separated; '': the system's. @throws {Error} for what is none.
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
    throw new Error(`API_DNS_SERVERS is "${servers}": it takes addresses of name servers, comma-separated`);
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
