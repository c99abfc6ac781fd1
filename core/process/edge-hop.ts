// How the edge (Caddy) proves to those behind it that a request comes over it: by a header with `EDGE_TOKEN`, which
// Caddy alone sets. Read by engines and by the API; whoever else sends the header is not believed.
import { createHash, timingSafeEqual } from 'node:crypto';

/** In lower case, as engines have names. */
export const EDGE_HEADER = 'x-platform-edge';

/** What callers of Caddy's admin API name as its host; it refuses any other. */
export const ADMIN_HOST = 'edge';

/** Says whether a value is the token, in constant time; never where no token is set. */
export function createEdgeCheck(token: string): (value: string | null | undefined) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(token);
  return (value) => token !== '' && typeof value === 'string' && timingSafeEqual(digest(value), expected);
}
