// Where the dashboard's link to the documentation leads: it is a site of its own, at another port or host.

/** `/docs` and what is below it, on the dashboard's port. */
const DOCS_PATH = /^\/docs(?:\/|$)/;

/**
 * The address of a page of the documentation.
 *
 * @param path that was asked for at the dashboard's port, with its query.
 * @param host header of that request: the documentation is at another port of the same machine.
 * @param docs `DOCS_URL`, empty where there is none; the port it listens on, null: it is off.
 * @returns null for another path, and where there is no documentation.
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
