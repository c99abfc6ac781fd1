// Which requests of browsers come from our own pages, and where a sign-in may lead back to. Pure.

/**
 * Whether a request that changes something was made by a page of this origin. Browsers say so themselves; what says
 * nothing is no browser and has no business with cookies.
 */
export function isFromOwnPage(headers: Headers, origin: string): boolean {
  const from = headers.get('origin');
  if (from !== null) return from === origin;
  return headers.get('sec-fetch-site') === 'same-origin';
}

/** Whether a request that only reads may use the cookie: other sites' pages and other hosts of this site may not. */
export function mayRead(headers: Headers, origin: string): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return false;
  const from = headers.get('origin');
  return from === null || from === origin;
}

const PATH_CHARS_MAX = 2048;

/**
 * Where to go after a sign-in: a path of our own origin, else `/`.
 *
 * @param asked whatever came along.
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
  // Dots can be left away to two slashes, which lead to another host.
  return path.startsWith('//') ? '/' : path;
}
