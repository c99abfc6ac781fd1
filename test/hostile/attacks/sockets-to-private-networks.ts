// TCP sockets to private networks, to where clouds keep credentials, and to such addresses inside of IPv6; with TLS,
// STARTTLS and by node:net as well.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const addresses = [
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '100.64.0.1',
  '169.254.169.254',
  'fd00::1',
  'fe80::1',
  '::ffff:10.0.0.1',
  '64:ff9b::a00:1',
];

export default {
  kind: 'egress',
  worker: attacker(
    `const ways = [
      (hostname) => connect({ hostname, port: 5432 }).opened,
      (hostname) => connect({ hostname, port: 5432 }, { secureTransport: 'on' }).opened,
      (hostname) => connect({ hostname, port: 5432 }, { secureTransport: 'starttls' }).opened,
      (host) => new Promise((resolve, reject) => net.connect({ host, port: 5432 }).on('connect', resolve).on('error', reject)),
    ];
    const codes = await Promise.all(${JSON.stringify(addresses)}.flatMap((hostname) => ways.map((open) => open(hostname).then(() => hostname, ({ code, name }) => code ?? name))));
    return new Response([...new Set(codes)].sort().join());`,
    `import { connect } from 'cloudflare:sockets'; import net from 'node:net';`,
  ),
  attack: ({ get }) => get(),
  expect: '200 egress_forbidden',
} satisfies Attack;
