// What a trusted proxy calls a request: its `x-request-id` is answered and logged, so that one name runs through all
// logs. A client's own is its worker's business, and never the platform's. Used by handler.ts.
import { headerIn } from './header-block.ts';
import type { Exchange } from './listener.ts';

/** Answers null for requests without a usable id of a trusted proxy. */
export type ProxyRequestIds = (exchange: Pick<Exchange, 'headerBlock' | 'remoteAddress'>) => string | null;

/** Null where no proxy is trusted, so that no request is searched. */
export function createProxyRequestIds(isTrusted: ((address: string) => boolean) | null): ProxyRequestIds | null {
  if (isTrusted === null) return null;
  return ({ headerBlock, remoteAddress }) => {
    if (!headerBlock.includes('x-request-id\0') || !isTrusted(remoteAddress)) return null;
    const value = headerIn(headerBlock, 'x-request-id')?.trim() ?? '';
    // What can stand in any log and header; everything else is as good as none.
    return /^[\w.:/+=@-]{1,128}$/.test(value) ? value : null;
  };
}
