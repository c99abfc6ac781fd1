// Checks whether requests come from the platform's own pages, and where a sign-in may redirect. Pure.

/**
 * Whether a request that changes something was made by a page of this origin, by the headers that browsers set.
 * Requests without these headers are not from a browser and must not use cookies.
 */
export function isFromOwnPage(headers: Headers, origin: string): boolean {
  const from = headers.get('origin');
  if (from !== null) return from === origin;
  return headers.get('sec-fetch-site') === 'same-origin';
}

/** Whether a read-only request may use the cookie: not from pages of other sites, nor of other hosts of this site. */
export function mayRead(headers: Headers, origin: string): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return false;
  const from = headers.get('origin');
  return from === null || from === origin;
}

const PATH_CHARS_MAX = 2048;

/**
 * The path to redirect to after sign-in: on the same origin, else `/`.
 *
 * @param asked untrusted input.
 * @example safePath('//evil.example', 'https://app.example.com') // '/'
 */
export function safePath(asked: string | null | undefined, origin: string): string {
  if (
    asked == null ||
    asked.length > PATH_CHARS_MAX ||
    !/^\/(?![/\\])[\x21-\x7e]*$/.test(asked) ||
    asked.includes('\\')
  )
    return '/';
  const url = URL.parse(asked, origin);
  if (url === null || url.origin !== origin) return '/';
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Removing dot segments can leave two slashes, which lead to another host.
  return path.startsWith('//') ? '/' : path;
}
