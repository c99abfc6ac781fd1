// The host half of URL: internationalised domain names, whose tables the guest does not hold.
import { domainToASCII, domainToUnicode } from 'node:url';
import type { SyncHostFunction } from '../bridge/host-calls.ts';

const DOMAIN_UNITS_MAX = 16 * 1024;
// Node's function reads its argument as part of a URL: what would end the host, or be decoded twice, is kept from it.
const notInDomain = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;

// Node lets labels through that claim to be encoded and cannot be decoded, and shows them as they are.
function isValidLabel(label: string): boolean {
  return !label.startsWith('xn--') || !domainToUnicode(label).startsWith('xn--');
}

/** Synchronous calls `url.*`. */
export const urlCalls: Readonly<Record<string, SyncHostFunction>> = {
  'url.domainToAscii': (args) => {
    const { domain } = (args ?? {}) as { domain?: unknown };
    if (typeof domain !== 'string' || domain.length > DOMAIN_UNITS_MAX)
      throw new TypeError('The domain must be a string of bounded length');
    if (notInDomain.test(domain)) return '';
    const ascii = domainToASCII(domain);
    return ascii.includes('xn--') && !ascii.split('.').every(isValidLabel) ? '' : ascii;
  },
};
