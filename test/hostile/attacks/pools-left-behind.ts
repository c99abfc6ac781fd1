// Sessions that end in a transaction, under another role, with a query under way, with half a message or with a message
// that has no Sync: none of these connections is found in that state by the next session.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient, poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

const server = await startPoolServer();

export default {
  kind: 'tenancy',
  yaml: 'hyperdrive: { PG: DATABASE_URL }\n',
  worker: attacker(
    `const ways = {
      transaction: (client) => client.query('begin'),
      role: (client) => client.query('set role postgres'),
      both: async (client) => { await client.query('set role postgres'); await client.query('begin'); },
      query: (client) => client.send(message('Q', encode('sleep\\0'))),
      copy: async (client) => { await client.send(message('Q', encode('copy in\\0'))); await client.until('G'); },
      half: (client) => client.send(new Uint8Array([81, 0, 0, 1])),
      body: (client) => client.send(joined(encode('Q'), int32(100), encode('who'))),
      parse: (client) => client.send(message('P', encode('name\\0who\\0\\0\\0'))),
      garbage: (client) => client.send(encode('?????')),
    };
    const answers = [];
    for (const [way, leave] of Object.entries(ways))
      for (const end of ['terminate', 'close', 'stay']) {
        const client = await opened(env.PG);
        await leave(client);
        if (end === 'terminate') await client.send(message('X', [])).catch(() => {});
        if (end === 'close') await client.socket.close().catch(() => {});
        const next = await opened(env.PG);
        const role = await next.query('role');
        const begun = await next.query('begin');
        await next.query('rollback');
        await next.end();
        if (role !== 'none' || begun !== '') answers.push(way + ' ' + end + ': ' + role + begun);
      }
    return new Response(answers.length === 0 ? 'clean' : answers.join());`,
    poolClient,
  ),
  vars: { attacker: { DATABASE_URL: poolUrl(server) } },
  environment: { WORKER_EGRESS_ALLOW: 'loopback', POOL_CONNECTIONS_MAX: '12', WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ get }) => get(),
  expect: '200 clean',
} satisfies Attack;
