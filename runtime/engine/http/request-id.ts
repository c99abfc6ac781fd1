// The request id from a trusted proxy's `x-request-id`, which is returned and logged, so that all logs contain the same
// id. An id that a client sends is passed to its worker and never used by the platform. Used by handler.ts.
import { headerIn } from './header-block.ts';
import type { Exchange } from './listener.ts';

/** Returns the id; null for requests without a usable id from a trusted proxy. */
export type ProxyRequestIds = (exchange: Pick<Exchange, 'headerBlock' | 'remoteAddress'>) => string | null;

/**
 * Creates the function that returns the id of a request; null if no proxy is trusted, so that requests are not searched
 * for an id.
 */
export function createProxyRequestIds(isTrusted: ((address: string) => boolean) | null): ProxyRequestIds | null {
  if (isTrusted === null) return null;
  return ({ headerBlock, remoteAddress }) => {
    if (!headerBlock.includes('x-request-id\0') || !isTrusted(remoteAddress)) return null;
    const value = headerIn(headerBlock, 'x-request-id')?.trim() ?? '';
    // Characters that are safe in any log and header; other values are ignored.
    return /^[\w.:/+=@-]{1,128}$/.test(value) ? value : null;
  };
}
