// Whose request it is: what a worker reads of its client's address. Clients can write any header, so theirs are taken
// out; a trusted proxy's (`TRUSTED_PROXIES`) are believed as far as proxies are trusted, hop by hop from the nearest.
// Used by handler.ts.
import { BlockList, isIP, isIPv4 } from 'node:net';
import { createEdgeCheck, EDGE_HEADER } from '#core/process/edge-hop.ts';
import { headerIn } from './header-block.ts';

/** Headers of a request with the address of its client in them. */
type ClientHeaders = (headerBlock: string, remoteAddress: string) => string;

/** Headers that state the client's address: replaced in every request. */
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
/** Headers that state what the client asked a proxy for: only a trusted one's are handed on. */
const PROXY_NAMES = new Set([
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-forwarded-ssl',
]);

/** Addresses that are remembered; clients beyond cost a few microseconds. */
const REMEMBERED_MAX = 1000;

/**
 * @param trustedProxies addresses and CIDR ranges, checked by {@link proxyProblem}
 * @example createClientHeaders(['10.0.0.0/8'])('x-forwarded-for\0' + '192.0.2.1\0', '10.0.0.1')
 * // 'x-forwarded-for\0' + '192.0.2.1\0x-real-ip\0' + '192.0.2.1\0cf-connecting-ip\0' + '192.0.2.1\0'
 */
export function createClientHeaders(trustedProxies: readonly string[], edgeToken = ''): ClientHeaders {
  const isTrusted = createTrust(trustedProxies);
  const isFromEdge = createEdgeTrust(edgeToken);
  // Of each peer: what is added for it, null for a proxy, whose requests have clients of their own.
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
    // Nearly all requests claim nothing, and two searches are cheaper than taking the block apart.
    return (
      (block.includes('forwarded') || block.includes('-ip') || block.includes(EDGE_HEADER)
        ? withoutClaims(block, ADDRESS_NAMES, PROXY_NAMES)
        : block) + added
    );
  };
}

/** Whose request it is, for the platform's own decisions. */
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

/** Whether a request comes over the edge, whoever has its connection. */
function createEdgeTrust(edgeToken: string): (headerBlock: string) => boolean {
  if (edgeToken === '') return () => false;
  const isToken = createEdgeCheck(edgeToken);
  return (block) => block.includes(`${EDGE_HEADER}\0`) && isToken(headerIn(block, EDGE_HEADER));
}

/** Whether an address is a trusted proxy's. */
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

/** What is wrong with an entry of `TRUSTED_PROXIES`; null when it is an address or a CIDR range. */
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

/** The nearest address that no trusted proxy has; what lies behind it is hearsay. */
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

/** An address as proxies write it, with or without a port; null when it is none. */
function plainAddress(text: string): string | null {
  const trimmed = text.trim();
  const [, bracketed, withPort] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(trimmed) ?? [];
  const address = bracketed ?? withPort ?? trimmed;
  const plain = address.startsWith('::ffff:') && isIPv4(address.slice(7)) ? address.slice(7) : address;
  return isIP(plain) === 0 || plain.includes('%') ? null : plain;
}
