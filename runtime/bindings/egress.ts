// Where a worker may connect to: no loopback, link-local, private or otherwise special address unless the operator allows it.
// Checked on literal addresses before connecting and on every address that DNS gives, so that a name cannot lead inside.
import { BlockList, isIP } from 'node:net';

/** Addresses that workers may reach. */
export interface EgressPolicy {
  /** `127.0.0.0/8` and `::1`: `platform dev` allows them. */ readonly loopback: boolean;
  /** Everything else that is not public. */ readonly private: boolean;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

// RFC 6890 and its successors: this network, private, shared, link-local (cloud metadata), protocol assignments, documentation,
// 6to4 relays, benchmarking, multicast, reserved; and for IPv6 unspecified, mapped, NAT64, unique local, link-local, multicast, ...
const special = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  special.addSubnet(network, bits, 'ipv4');
}
for (const [network, bits] of [
  // IPv4 in its oldest form in IPv6 included.
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  special.addSubnet(network, bits, 'ipv6');
}

/** Whether a policy lets a worker connect to an IP address. IPv4 inside IPv6 is judged as IPv4. */
export function mayConnect(address: string, policy: EgressPolicy): boolean {
  const plain = address.startsWith('[') ? address.slice(1, -1) : address;
  const family = isIP(plain);
  if (family === 0) return false;
  const mapped = family === 6 ? (/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1] ?? mappedHex(plain)) : undefined;
  if (mapped !== undefined) return mayConnect(mapped, policy);
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (loopback.check(plain, type)) return policy.loopback;
  return policy.private || !special.check(plain, type);
}

// `::ffff:7f00:1` is 127.0.0.1 as well.
function mappedHex(address: string): string | undefined {
  const match = /^(?:::ffff:|0{0,4}(?::0{1,4}){4}:ffff:)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address);
  if (match === null) return undefined;
  const high = Number.parseInt(match[1] as string, 16);
  const low = Number.parseInt(match[2] as string, 16);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
