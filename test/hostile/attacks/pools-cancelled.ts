// Cancellations with guessed keys, and of a session that is over: they reach no session but the one that has the key,
// and a connection that was cancelled serves no other session.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient, poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

const server = await startPoolServer();

export default {
  kind: 'tenancy',
  yaml: 'hyperdrive: { PG: DATABASE_URL }\n',
  worker: attacker(
    `const cancel = async (key) => { const client = new Client(env.PG); await client.send(first(80877102, key)); return client.outcome(); };
    const sleeper = await opened(env.PG);
    const slept = sleeper.query('sleep');
    const guesses = Array.from({ length: 40 }, (_, at) => joined(int32(at + 1), int32((at + 1) * 7)));
    await Promise.all(guesses.map(cancel));
    const before = await Promise.race([slept, new Promise((resolve) => setTimeout(resolve, 100, 'asleep'))]);
    await Promise.all([cancel(sleeper.key), cancel(sleeper.key), cancel(sleeper.key)]);
    const after = await slept;
    const number = await sleeper.query('who');
    await sleeper.end();
    await cancel(sleeper.key);
    const others = await Promise.all([1, 2, 3].map(() => asked(env.PG, 'who')));
    return new Response([before, after, others.includes(number) ? 'used again' : 'closed'].join());`,
    poolClient,
  ),
  vars: { attacker: { DATABASE_URL: poolUrl(server) } },
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: async ({ get }) => `${await get()}, ${server.cancelled}`,
  expect: '200 asleep,57014,closed, 1',
} satisfies Attack;
