// The origin under which browsers reach an app, for addresses that outlive a request: letters, sign-in providers,
// signed files. A client may write any port behind the host, and a proxy may leave it out, so an operator can say it.
// Used by handler.ts. Pure.

/**
 * @param port `PUBLIC_PORT`; null: as the request says.
 * @param host as in the request, with its port if any.
 * @example publicOrigin('https', 8443, 'shop.example.org:1') // 'https://shop.example.org:8443'
 */
export function publicOrigin(protocol: 'http' | 'https', port: number | null, host: string): string {
  if (port === null) return `${protocol}://${host}`;
  const name = host.replace(/:\d*$/, '');
  return port === (protocol === 'https' ? 443 : 80) ? `${protocol}://${name}` : `${protocol}://${name}:${port}`;
}
