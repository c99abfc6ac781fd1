// Addresses that tenants may make the platform connect to (`fetch` of workers, Git remotes, webhooks): no loopback,
// link-local, private or otherwise special address, and not the machine itself, unless the operator allows it.
// Checked on literal addresses before connecting and on every address from DNS, so that a name cannot lead to an
// internal address.
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Addresses that workers may reach. */
export interface EgressPolicy {
  /**
   * Whether workers may reach the machine itself, at `127.0.0.0/8`, `::1` and its public addresses, as in `platform
   * dev`.
   */
  readonly loopback: boolean;
  /** Whether workers may reach all other addresses that are not public. */
  readonly private: boolean;
  /** Whether an address belongs to this machine; without this function, no address does. */
  readonly isOwn?: (address: string, family: 'ipv4' | 'ipv6') => boolean;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
// A connection to the unspecified address reaches this machine.
loopback.addAddress('0.0.0.0', 'ipv4');
loopback.addAddress('::', 'ipv6');

// IANA's registry of special-purpose IPv4 addresses: this network, private, shared, link-local (cloud metadata),
// protocol assignments, documentation, AS112, AMT, 6to4 relays, benchmarking, reserved; and multicast.
const special = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  special.addSubnet(network, bits, 'ipv4');
}
// In IPv6, global unicast addresses (2000::/3) are allowed, except for special parts: protocol assignments with Teredo,
// documentation, 6to4, AS112. This excludes IPv4 inside IPv6 (mapped, translated, compatible, NAT64), and unique local,
// link-local, site-local, multicast, discard.
const unicast = new BlockList();
unicast.addSubnet('2000::', 3, 'ipv6');
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const) {
  special.addSubnet(network, bits, 'ipv6');
}

/** Whether a policy lets a worker connect to an IP address, in any notation. */
export function mayConnect(address: string, policy: EgressPolicy): boolean {
  const plain = address.startsWith('[') ? address.slice(1, -1) : address;
  const family = isIP(plain);
  // An address with a zone belongs to an interface of this machine.
  if (family === 0 || plain.includes('%')) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (loopback.check(plain, type)) return policy.loopback;
  if (special.check(plain, type) || (family === 6 && !unicast.check(plain, type))) return policy.private;
  return policy.loopback || policy.isOwn?.(plain, type) !== true;
}

/** Whether an address is public: neither in a private network nor on this machine's loopback. */
export function isPublicAddress(address: string): boolean {
  return mayConnect(address, { loopback: false, private: false });
}

/** Addresses of this machine, at most a few seconds old: interfaces come and go. */
export function createOwnAddresses(
  read: () => ReturnType<typeof networkInterfaces> = networkInterfaces,
  now: () => number = () => performance.now(),
): NonNullable<EgressPolicy['isOwn']> {
  let list = new BlockList();
  let readAt = -Infinity;
  return (address, family) => {
    if (now() - readAt >= OWN_ADDRESSES_MS) {
      list = new BlockList();
      for (const each of Object.values(read()).flat())
        if (each !== undefined)
          list.addAddress(each.address.replace(/%.*/, ''), each.family === 'IPv4' ? 'ipv4' : 'ipv6');
      readAt = now();
    }
    return list.check(address, family);
  };
}

const OWN_ADDRESSES_MS = 5000;
