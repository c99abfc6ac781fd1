// TCP sockets to this machine, by all its addresses, their spellings and its names, and to the ports of the platform.
import { networkInterfaces } from 'node:os';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const own = Object.values(networkInterfaces())
  .flat()
  .flatMap((each) => (each === undefined || each.address.includes('%') ? [] : [each.address]));
const spellings = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '::1',
  '0.0.0.0',
  '::',
  '::ffff:127.0.0.1',
];
const names = ['localhost', 'LOCALHOST', 'localhost.', 'victim.localhost', 'ip6-localhost'];

export default {
  kind: 'egress',
  worker: attacker(
    `const codes = await Promise.all(${JSON.stringify([...own, ...spellings, ...names])}.flatMap((hostname) => [22, 4001, 4002, 5432, 8081].map(async (port) => { try { const socket = connect({ hostname, port }); await socket.opened; return hostname + ' ' + port; } catch ({ code, name }) { return code ?? name; } })));
    return new Response([...new Set(codes)].sort().join());`,
    `import { connect } from 'cloudflare:sockets';`,
  ),
  attack: ({ get }) => get(),
  expect: ['200 egress_forbidden', '200 ENOTFOUND,egress_forbidden', '200 EAI_AGAIN,egress_forbidden'],
} satisfies Attack;
