// Three hundred clients of one request, with parameters of their own each, that never end: the server sees no more
// connections than a project may have, the others are refused or wait, and the pool of a neighbour works.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient, poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

const server = await startPoolServer();
const neighbours = await startPoolServer();

export default {
  kind: 'protocol',
  yaml: 'hyperdrive: { PG: DATABASE_URL }\n',
  worker: {
    attacker: attacker(
      `let open = 0;
      const clients = Array.from({ length: 300 }, (_, at) => opened(env.PG, { application_name: String(at) }).then(() => open++, () => {}));
      await Promise.any(clients);
      await Promise.race([Promise.all(clients), new Promise((resolve) => setTimeout(resolve, 3000))]);
      return new Response(open > 0 && open <= 5 ? 'held' : String(open));`,
      poolClient,
    ),
    neighbour: attacker(`return new Response((await asked(env.PG, 'who')).split('/')[0]);`, poolClient),
  },
  vars: {
    attacker: { DATABASE_URL: poolUrl(server) },
    neighbour: { DATABASE_URL: poolUrl(neighbours, 'neighbour') },
  },
  environment: { WORKER_EGRESS_ALLOW: 'loopback', POOL_CONNECTIONS_MAX: '5', WORKER_CPU_LIMIT_MS_FREE: '2000' },
  async attack({ get }) {
    const [flood, beside] = await Promise.all([get(), get('/attack', { project: 'neighbour' })]);
    return `${flood}, ${beside}, ${server.openMost <= 5 ? 'few' : server.openMost}`;
  },
  expect: '200 held, 200 neighbour, few',
} satisfies Attack;
