// How the edge (Caddy) proves to services behind it that a request came through it: a header with `EDGE_TOKEN`, which
// only Caddy sets. Checked by engines and the API; the header is ignored from any other sender.
import { createHash, timingSafeEqual } from 'node:crypto';

/** The name of the header, in lower case, as engines see it. */
export const EDGE_HEADER = 'x-platform-edge';

/** Host name for calls of Caddy's admin API, which refuses any other host name. */
export const ADMIN_HOST = 'edge';

/** Whether a value is the token, in constant time; always false without a token. */
export function createEdgeCheck(token: string): (value: string | null | undefined) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(token);
  return (value) => token !== '' && typeof value === 'string' && timingSafeEqual(digest(value), expected);
}
