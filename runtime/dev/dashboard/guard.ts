// Access to the dashboard: only from a browser on this machine, on the dashboard's own page. Before any data is read,
// refuses requests for a host name that another page has pointed to this machine (DNS rebinding), and requests from
// pages of other sites. Called by server.ts.

/** The relevant parts of a request. */
interface Asking {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `sec-fetch-site`. */
  readonly site: string | undefined;
  /** `sec-fetch-mode`. */
  readonly mode: string | undefined;
  /** The local address on which the request arrived. */
  readonly localAddress: string | undefined;
}

const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Why a request is refused; null if it is allowed. @param devHost the host on which dev listens. */
export function objectionTo(asking: Asking, devHost: string): string | null {
  const { host, origin, site, mode } = asking;
  const name = hostName(host);
  if (name === null) return 'it has no valid Host';
  const own = [...loopbackNames, bracketed(devHost.toLowerCase()), bracketed(plainAddress(asking.localAddress ?? ''))];
  if (!own.includes(name)) return `${name} is not a name of this machine`;
  if (origin !== undefined && !isSame(origin, host as string)) return 'it comes from another origin';
  // Such a page could not read the response, but creating it may be costly. Links may be followed from any page.
  if (site === 'cross-site' && mode !== 'navigate') return 'it comes from another site';
  return null;
}

/** The name in a Host header, without the port, in lower case. */
function hostName(host: string | undefined): string | null {
  const [, name] = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9.-]{1,255})(?::\d{1,5})?$/.exec(host?.toLowerCase() ?? '') ?? [];
  return name ?? null;
}

function bracketed(address: string): string {
  return address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
}

function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

function isSame(origin: string, host: string): boolean {
  return origin.toLowerCase() === `http://${host.toLowerCase()}`;
}
