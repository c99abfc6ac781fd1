// A name that is an allowed address when it is checked, and a private one later: each connection looks it up once.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { startDnsServer } from '#test/setup/dns-server.ts';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const dns = await startDnsServer((_name, count) => [count === 0 ? '127.0.0.1' : '10.0.0.1']);
const server = createServer((socket) => socket.on('error', () => {}).end())
  .listen(0, '127.0.0.1')
  .unref();
await once(server, 'listening');

export default {
  kind: 'egress',
  worker: attacker(
    `const answers = []; for (let at = 0; at < 3; at++) try { await connect({ hostname: 'rebound.test', port: Number(url.searchParams.get('port')) }).opened; answers.push('open'); } catch ({ code, name }) { answers.push(code ?? name); } return new Response(answers.join());`,
    `import { connect } from 'cloudflare:sockets';`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_DNS_SERVERS: dns.address },
  attack: ({ get }) => get(`/attack?port=${(server.address() as AddressInfo).port}`),
  expect: '200 open,egress_forbidden,egress_forbidden',
} satisfies Attack;
