// Redirect target of the dashboard's link to the documentation, which has its own port or host.

/** `/docs` and below, on the dashboard's port. */
const DOCS_PATH = /^\/docs(?:\/|$)/;

/**
 * The URL of a page of the documentation.
 *
 * @param path requested path on the dashboard's port, with query.
 * @param host the Host header of the request, for documentation on another port of the same machine.
 * @param docs `url`: `DOCS_URL`, or empty; `port`: the port of the documentation, or null if off.
 * @returns null for other paths, and if no documentation is served.
 * @example docsAddress('/docs/cli', 'localhost:3002', { url: '', port: 3005 }) // 'http://localhost:3005/cli'
 */
export function docsAddress(
  path: string,
  host: string,
  { url, port }: { readonly url: string; readonly port: number | null },
): string | null {
  if (!DOCS_PATH.test(path) || port === null) return null;
  const own = URL.parse(`http://${host}`);
  if (own !== null) own.port = String(port);
  const base = url === '' ? own?.origin : url.replace(/\/+$/, '');
  return base === undefined ? null : `${base}${path.slice('/docs'.length).replace(/^\/*/, '/')}`;
}
