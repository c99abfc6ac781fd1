// The client's address of a request: the address of the connection, or the address that trusted proxies
// (`TRUSTED_PROXIES`) report, hop by hop from the nearest proxy. Pure.
import { BlockList, isIP, isIPv4 } from 'node:net';
import { createEdgeCheck, EDGE_HEADER } from '#core/process/edge-proxy.ts';

const HOPS_MAX = 20;

/**
 * @param trustedProxies addresses and CIDR ranges.
 * @param connectionOf returns the address of a request's connection.
 * @param edgeToken identifies requests from the edge, which is trusted like a proxy.
 * @throws {Error} naming an invalid entry.
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

/** srvx sets it. */
function connectionAddress(request: Request): string | null {
  return (request as Request & { readonly ip?: string }).ip ?? null;
}

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/**
 * The network by which requests are counted: for IPv6 the /64, which a single client usually owns.
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
