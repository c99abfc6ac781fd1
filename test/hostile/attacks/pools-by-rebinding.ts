// The server of a pool by a name that is an allowed address at first, and a private one later: each connection looks it
// up once, and goes to the address that was checked.
import { startDnsServer } from '#test/setup/dns-server.ts';
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient, poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

const server = await startPoolServer();
const dns = await startDnsServer((_name, count) => [count === 0 ? '127.0.0.1' : '10.0.0.1']);

export default {
  kind: 'egress',
  yaml: 'hyperdrive: { PG: DATABASE_URL }\n',
  worker: attacker(
    `const answers = []; for (let at = 0; at < 3; at++) { const client = new Client(env.PG); const outcome = client.outcome(); await client.send(startup({ application_name: 'a' + at })); answers.push(await outcome); } return new Response(answers.join());`,
    poolClient,
  ),
  vars: { attacker: { DATABASE_URL: poolUrl(server, 'attacker', 'rebound.test') } },
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_DNS_SERVERS: dns.address },
  attack: ({ get }) => get(),
  expect: '200 ready,08004,08004',
} satisfies Attack;
