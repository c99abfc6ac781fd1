// The host half of URL: internationalised domain names, whose tables the guest does not hold.
import { domainToASCII } from 'node:url';
import type { SyncHostHandler } from '../bridge/host-calls.ts';

const DOMAIN_UNITS_MAX = 16 * 1024;

/** Synchronous calls `url.*`. */
export const urlCalls: Readonly<Record<string, SyncHostHandler>> = {
  'url.domainToAscii': (args) => {
    const { domain } = (args ?? {}) as { domain?: unknown };
    if (typeof domain !== 'string' || domain.length > DOMAIN_UNITS_MAX)
      throw new TypeError('The domain must be a string of bounded length');
    return domainToASCII(domain);
  },
};
