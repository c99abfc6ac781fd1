// Decides which names may be custom domains, and which DNS records they need. Called by the routes of domains. Pure.
import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import { ApiError } from '../http/errors.ts';
import type { Addresses } from '../process/configuration.ts';

/** Lower case, no trailing dot. Labels of letters, digits and hyphens. */
const NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Normalizes a hostname: lower case, Punycode.
 *
 * @param field name of the field, for the error @throws {ApiError} `unprocessable` for an invalid public hostname, or
 * for a host of the platform.
 * @example checkHostname('hostname', 'Straße.example', addresses) // 'xn--strae-oqa.example'
 */
export function checkHostname(field: string, given: string, addresses: Addresses): string {
  const refuse = (reason: string): never => {
    throw new ApiError('unprocessable', { reason: `body.${field}: ${reason}` });
  };
  const bare = given.trim().replace(/\.$/, '');
  if (bare.startsWith('*')) refuse('wildcards are not supported: add the domains one by one, such as www.example.com');
  // Refuse ports, paths and logins, which the URL parser would misread.
  const hostname = /[\s/?#@:\\%]/.test(bare) ? '' : domainToASCII(bare);
  if (isIP(bare) !== 0 || isIP(hostname) !== 0)
    refuse('must be a hostname, such as www.example.com, not an IP address');
  if (!NAME.test(hostname) || hostname.length > 253 || /\.\d+$/.test(hostname))
    refuse('must be a hostname, such as www.example.com');
  const own = [...ownDomains(addresses), 'localhost'];
  if (own.some((host) => hostname === host || hostname.endsWith(`.${host}`))) refuse('is reserved by the platform');
  return hostname;
}

/** Domains of the platform itself. */
function ownDomains({ domain, domains = [], api, ui }: Addresses): string[] {
  return [domain, ...domains, new URL(api).hostname, new URL(ui).hostname];
}

/** The hostname in Unicode, if it differs. */
export function unicodeOf(hostname: string): string {
  return domainToUnicode(hostname) || hostname;
}

/** A DNS record that the owner creates. */
interface DnsRecord {
  readonly type: 'TXT' | 'CNAME' | 'A' | 'AAAA';
  readonly name: string;
  readonly value: string;
  /**
   * The purposes of the record: to verify ownership, or to route requests. One CNAME record can verify ownership and
   * route requests.
   */
  readonly purpose: 'verify' | 'route';
}

/**
 * DNS records to create, the verification first. An apex domain cannot have a CNAME, so it gets the platform's
 * addresses, if they are known.
 *
 * @param isApex whether the name may be an apex, judged by its labels
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

/** Whether a hostname may be an apex: `example.com`, `example.co.uk`. A name with more labels counts as a subdomain. */
function mayBeApex(hostname: string): boolean {
  const labels = hostname.split('.');
  return labels.length === 2 || (labels.length === 3 && labels[1]!.length <= 3 && labels[2]!.length === 2);
}
