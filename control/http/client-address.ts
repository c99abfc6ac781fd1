// Address of the client of a request: that of the connection, or what trusted proxies (`TRUSTED_PROXIES`) say, hop by
// hop from the nearest. Pure.
import { BlockList, isIP, isIPv4 } from 'node:net';
import { createEdgeCheck, EDGE_HEADER } from '#core/process/edge-hop.ts';

const HOPS_MAX = 20;

/**
 * @param trustedProxies addresses and CIDR ranges.
 * @param connectionOf the address that a request's connection came from.
 * @param edgeToken by which requests over the edge are known; its word is taken like a trusted proxy's.
 * @throws {Error} naming an entry that is neither.
 */
export function createClientAddress(
  trustedProxies: readonly string[],
  connectionOf: (request: Request) => string | null = connectionAddress,
  edgeToken = '',
): (request: Request) => string | null {
  const proxies = new BlockList();
  for (const entry of trustedProxies) {
    const [address = '', bits] = entry.split('/');
    if (isIP(address) === 0) throw new Error(`TRUSTED_PROXIES: "${entry}" is neither an address nor a CIDR range`);
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  const isFromEdge = createEdgeCheck(edgeToken);
  const isTrusted = (address: string): boolean =>
    isIP(address) !== 0 && proxies.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  return (request) => {
    const ip = connectionOf(request);
    if (ip === null) return null;
    let nearest = plain(ip);
    const hops = (request.headers.get('x-forwarded-for') ?? '').split(',').slice(-HOPS_MAX);
    const isOverEdge = isFromEdge(request.headers.get(EDGE_HEADER));
    for (let isFirst = true; (isFirst && isOverEdge) || isTrusted(nearest); isFirst = false) {
      const before = plain(hops.pop()?.trim() ?? '');
      if (isIP(before) === 0) break;
      nearest = before;
    }
    return nearest;
  };
}

/** srvx puts it there. */
function connectionAddress(request: Request): string | null {
  return (request as Request & { readonly ip?: string }).ip ?? null;
}

/** An IPv4 address that came over an IPv6 socket is one of IPv4. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/**
 * An address as requests are counted by: of IPv6 the /64, since one client has all of it.
 *
 * @example networkOf('2001:db8:1:2:3::4') // '2001:db8:1:2'
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [before = '', after = ''] = address.split('::');
  const left = before === '' ? [] : before.split(':');
  const right = after === '' ? [] : after.split(':');
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0') : [];
  return [...left, ...zeros, ...right].slice(0, 4).join(':');
}
