// The host half of URL: internationalized domain names, whose tables the guest does not have.
import { domainToASCII, domainToUnicode } from 'node:url';
import type { SyncHostFunction } from '../bridge/host-calls.ts';

const DOMAIN_UNITS_MAX = 16 * 1024;
// Node's function parses its argument as part of a URL: characters that end the host, or would be decoded twice, are
// refused.
const notInDomain = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;

// Node accepts labels with an encoding prefix that cannot be decoded, and returns them unchanged.
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
