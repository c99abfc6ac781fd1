// The origin under which browsers reach an app, for URLs that outlive a request: emails, sign-in providers, signed
// files. A client may send any port in the host, and a proxy may omit it, so an operator can set it. Used by
// handler.ts. Pure.

/**
 * @param port `PUBLIC_PORT`; null means the port of the request. @param host the host of the request, with its port if
 *   it has one.
 * @example publicOrigin('https', 8443, 'shop.example.org:1') // 'https://shop.example.org:8443'
 */
export function publicOrigin(protocol: 'http' | 'https', port: number | null, host: string): string {
  if (port === null) return `${protocol}://${host}`;
  const name = host.replace(/:\d*$/, '');
  return port === (protocol === 'https' ? 443 : 80) ? `${protocol}://${name}` : `${protocol}://${name}:${port}`;
}
