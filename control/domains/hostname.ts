// Which names may be custom domains, and what the DNS has to say for one. Called by the routes of domains. Pure.
import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import { ApiError } from '../http/errors.ts';
import type { Addresses } from '../process/configuration.ts';

/** As DNS has it: lower case, no dot at its end. Pure names of letters, digits, hyphens. */
const NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The hostname as DNS has it: lower case, other scripts in Punycode.
 *
 * @param field name of what is read, for the error
 * @throws {ApiError} `unprocessable` for what is no name on the Internet, or is one of the platform's own.
 * @example checkHostname('hostname', 'Straße.example', addresses) // 'xn--strae-oqa.example'
 */
export function checkHostname(field: string, given: string, addresses: Addresses): string {
  const refuse = (reason: string): never => {
    throw new ApiError('unprocessable', { reason: `body.${field}: ${reason}` });
  };
  const bare = given.trim().replace(/\.$/, '');
  if (bare.startsWith('*'))
    refuse('is a wildcard, for which no project can prove itself: name the hosts one by one, such as www.example.com');
  // What names a port, a path or a login would be read as something else by the URL parser.
  const hostname = /[\s/?#@:\\%]/.test(bare) ? '' : domainToASCII(bare);
  if (isIP(bare) !== 0 || isIP(hostname) !== 0) refuse('is an address: name a host such as www.example.com');
  if (!NAME.test(hostname) || hostname.length > 253 || /\.\d+$/.test(hostname))
    refuse('is no hostname such as www.example.com');
  const own = [...ownDomains(addresses), 'localhost'];
  if (own.some((host) => hostname === host || hostname.endsWith(`.${host}`))) refuse("is one of the platform's own");
  return hostname;
}

/** All that the platform itself is reached by. */
function ownDomains({ domain, domains = [], api, ui }: Addresses): string[] {
  return [domain, ...domains, new URL(api).hostname, new URL(ui).hostname];
}

/** As people write it, where that is something else than DNS has. */
export function unicodeOf(hostname: string): string {
  return domainToUnicode(hostname) || hostname;
}

/** A DNS record that an owner makes. */
export interface DnsRecord {
  readonly type: 'TXT' | 'CNAME' | 'A' | 'AAAA';
  readonly name: string;
  readonly value: string;
  /** What it is for: the proof, or the way here. One CNAME is both. */
  readonly purpose: 'verify' | 'route';
}

/**
 * What to make in the DNS, the proof first. A domain that has NS records of its own (an apex) takes no CNAME: it gets
 * addresses, where they are known.
 *
 * @param isApex whether it has name servers of its own, as far as one can tell from its name
 */
export function dnsRecords(given: {
  readonly hostname: string;
  readonly verification: { readonly name: string; readonly value: string };
  readonly projectHost: string;
  readonly publicAddresses: readonly string[];
}): DnsRecord[] {
  const { hostname, verification, projectHost, publicAddresses } = given;
  const proof: DnsRecord = { type: 'TXT', name: verification.name, value: verification.value, purpose: 'verify' };
  const addresses = publicAddresses.map((value): DnsRecord => ({
    type: isIP(value) === 6 ? 'AAAA' : 'A',
    name: hostname,
    value,
    purpose: 'route',
  }));
  const alias: DnsRecord = { type: 'CNAME', name: hostname, value: projectHost, purpose: 'route' };
  return [proof, ...(mayBeApex(hostname) && addresses.length > 0 ? addresses : [alias])];
}

/** `example.com`, `example.co.uk`: those that may have no CNAME. Of more labels the first is taken for a subdomain. */
export function mayBeApex(hostname: string): boolean {
  const labels = hostname.split('.');
  return labels.length === 2 || (labels.length === 3 && labels[1]!.length <= 3 && labels[2]!.length === 2);
}
