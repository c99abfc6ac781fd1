// Determines the client address that a worker sees. Clients can send any header, so their headers are removed. Headers
// of trusted proxies (`TRUSTED_PROXIES`) are accepted hop by hop, starting with the nearest proxy. Used by handler.ts.
import { BlockList, isIP, isIPv4 } from 'node:net';
import { createEdgeCheck, EDGE_HEADER } from '#core/process/edge-proxy.ts';
import { headerIn } from './header-block.ts';

/** Request headers with the client's address added. */
type ClientHeaders = (headerBlock: string, remoteAddress: string) => string;

/** Headers with the client's address, which are replaced in every request. */
const ADDRESS_NAMES = new Set([
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'fastly-client-ip',
  'forwarded',
  'true-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-forwarded-for',
  'x-real-ip',
  EDGE_HEADER,
]);
/**
 * Headers in which a proxy repeats the client's request (host, protocol). They are only forwarded from a trusted proxy.
 */
const PROXY_NAMES = new Set([
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-forwarded-ssl',
]);

/** Maximum number of cached addresses; each client beyond this number costs a few microseconds. */
const REMEMBERED_MAX = 1000;

/**
 * @param trustedProxies addresses and CIDR ranges, checked by {@link proxyProblem}
 * @example createClientHeaders(['10.0.0.0/8'])('x-forwarded-for\0' + '192.0.2.1\0', '10.0.0.1')
 * // 'x-forwarded-for\0' + '192.0.2.1\0x-real-ip\0' + '192.0.2.1\0cf-connecting-ip\0' + '192.0.2.1\0'
 */
export function createClientHeaders(trustedProxies: readonly string[], edgeToken = ''): ClientHeaders {
  const isTrusted = createTrust(trustedProxies);
  const isFromEdge = createEdgeTrust(edgeToken);
  // The headers that are added for each peer; null for a proxy, which forwards many clients.
  const remembered = new Map<string, string | null>();

  return (block, remoteAddress) => {
    let added = remembered.get(remoteAddress);
    if (added === undefined) {
      if (remembered.size === REMEMBERED_MAX) remembered.clear();
      added =
        trustedProxies.length > 0 && isIP(remoteAddress) !== 0 && isTrusted(remoteAddress)
          ? null
          : addressFields(remoteAddress);
      remembered.set(remoteAddress, added);
    }
    if (added === null || isFromEdge(block))
      return withoutClaims(block, ADDRESS_NAMES) + addressFields(clientBehind(block, remoteAddress, isTrusted));
    // Nearly all requests have no such header, and two searches are cheaper than parsing the block.
    return (
      (block.includes('forwarded') || block.includes('-ip') || block.includes(EDGE_HEADER)
        ? withoutClaims(block, ADDRESS_NAMES, PROXY_NAMES)
        : block) + added
    );
  };
}

/** The client's address, for decisions of the platform itself. */
export function createClientAddress(
  trustedProxies: readonly string[],
  edgeToken = '',
): (request: { readonly headerBlock: string; readonly remoteAddress: string }) => string {
  const isTrusted = createTrust(trustedProxies);
  const isFromEdge = createEdgeTrust(edgeToken);
  return ({ headerBlock, remoteAddress }) =>
    (trustedProxies.length > 0 && isTrusted(remoteAddress)) || isFromEdge(headerBlock)
      ? clientBehind(headerBlock, remoteAddress, isTrusted)
      : remoteAddress;
}

/** Whether a request came through the edge, regardless of its connection. */
function createEdgeTrust(edgeToken: string): (headerBlock: string) => boolean {
  if (edgeToken === '') return () => false;
  const isToken = createEdgeCheck(edgeToken);
  return (block) => block.includes(`${EDGE_HEADER}\0`) && isToken(headerIn(block, EDGE_HEADER));
}

/** Whether an address belongs to a trusted proxy. */
export function createTrust(trustedProxies: readonly string[]): (address: string) => boolean {
  const proxies = new BlockList();
  for (const proxy of trustedProxies) {
    const [address, bits] = proxy.split('/') as [string, string?];
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  return (address) => isIP(address) !== 0 && proxies.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

/** Why an entry of `TRUSTED_PROXIES` is invalid; null for an address or a CIDR range. */
export function proxyProblem(entry: string): string | null {
  const [address, bits, more] = entry.split('/') as [string, string?, string?];
  const version = isIP(address);
  if (version === 0 || more !== undefined || address.includes('%'))
    return `"${entry}" is neither an address nor a CIDR range`;
  const most = version === 4 ? 32 : 128;
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most))
    return `"${entry}" has a prefix that is not 0 to ${most}`;
  return null;
}

function addressFields(address: string): string {
  return `x-forwarded-for\0${address}\0x-real-ip\0${address}\0cf-connecting-ip\0${address}\0`;
}

function* fieldsOf(block: string): Generator<readonly [name: string, value: string]> {
  const parts = block.split('\0');
  for (let at = 0; at + 1 < parts.length; at += 2) yield [parts[at]!, parts[at + 1]!];
}

function withoutClaims(block: string, ...claims: readonly ReadonlySet<string>[]): string {
  let kept = '';
  for (const [name, value] of fieldsOf(block))
    if (!claims.some((names) => names.has(name))) kept += `${name}\0${value}\0`;
  return kept;
}

/** The nearest address that is not a trusted proxy's; addresses behind it cannot be trusted. */
function clientBehind(block: string, remoteAddress: string, isTrusted: (address: string) => boolean): string {
  const hops: string[] = [];
  let real: string | null = null;
  for (const [name, value] of fieldsOf(block)) {
    if (name === 'x-forwarded-for') hops.push(...value.split(','));
    else if (name === 'x-real-ip') real = plainAddress(value);
  }
  if (hops.length === 0) return real ?? remoteAddress;
  let client = remoteAddress;
  for (const hop of hops.reverse()) {
    const address = plainAddress(hop);
    if (address === null) break;
    client = address;
    if (!isTrusted(address)) break;
  }
  return client;
}

/** Parses an address in proxy notation, with or without a port; null if it is not an address. */
function plainAddress(text: string): string | null {
  const trimmed = text.trim();
  const [, bracketed, withPort] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(trimmed) ?? [];
  const address = bracketed ?? withPort ?? trimmed;
  const plain = address.startsWith('::ffff:') && isIPv4(address.slice(7)) ? address.slice(7) : address;
  return isIP(plain) === 0 || plain.includes('%') ? null : plain;
}
