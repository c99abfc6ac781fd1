// Addresses of this machine or a private network: where ports with a token may listen, and which clients may use
// them. Used by the private port of handlers and by the sandbox service. Pure.
import { BlockList, isIP } from 'node:net';

const inside = new BlockList();
for (const [network, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  inside.addSubnet(network, bits, 'ipv4');
inside.addAddress('::1', 'ipv6');
inside.addSubnet('fc00::', 7, 'ipv6');
inside.addSubnet('fe80::', 10, 'ipv6');

/** False for any text that is not an address. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && inside.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
