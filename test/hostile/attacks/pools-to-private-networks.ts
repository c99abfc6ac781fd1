// Pools whose servers are this machine, private networks, the metadata of a cloud, the mail port or a Unix socket.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient, poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

const server = await startPoolServer();
const urls = {
  LOOPBACK: poolUrl(server),
  NAME: poolUrl(server, 'attacker', 'localhost'),
  SIX: poolUrl(server, 'attacker', '[::1]'),
  MAPPED: poolUrl(server, 'attacker', '[::ffff:127.0.0.1]'),
  ANY: poolUrl(server, 'attacker', '0.0.0.0'),
  SHORT: poolUrl(server, 'attacker', '127.1'),
  PRIVATE: poolUrl(server, 'attacker', '10.0.0.1'),
  CLOUD: poolUrl(server, 'attacker', '169.254.169.254'),
  MAIL: 'postgres://a@8.8.8.8:25/x',
  SOCKET: 'postgres://a@%2Fvar%2Frun%2Fpostgresql/x',
  PARAMETER: 'postgres://a@8.8.8.8/x?host=/var/run/postgresql',
};

export default {
  kind: 'egress',
  yaml: `hyperdrive: { ${Object.keys(urls)
    .map((name) => `${name}: URL_OF_${name}`)
    .join(', ')} }\n`,
  worker: attacker(
    `const answers = await Promise.all(${JSON.stringify(Object.keys(urls))}.map(async (name) => {
      const client = new Client(env[name]);
      const outcome = client.outcome();
      await client.send(startup()).catch(() => {});
      return outcome;
    }));
    const allowed = answers.filter((answer) => !['08004', '08001', 'pool_unavailable'].includes(answer));
    return new Response(allowed.length === 0 ? 'refused' : answers.join());`,
    poolClient,
  ),
  vars: { attacker: Object.fromEntries(Object.entries(urls).map(([name, url]) => [`URL_OF_${name}`, url])) },
  attack: async ({ get }) => `${await get()}, ${server.openMost}`,
  expect: '200 refused, 0',
} satisfies Attack;
