// A worker that reaches for the pool of another project: by its host, its address and its password, by a binding that
// only the other one has, and by the key that cancels its queries. Both have the same server and the same URL, and yet
// no connection in common.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient, poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

const server = await startPoolServer();
const url = poolUrl(server);

export default {
  kind: 'tenancy',
  yaml: 'hyperdrive: { PG: DATABASE_URL }\n',
  worker: {
    attacker: attacker(
      `const failed = (run) => Promise.resolve().then(run).then(() => 'done', ({ code, message }) => code ?? message);
      const { host, port, ip, key } = await request.json();
      if (key === undefined) {
        const hooks = globalThis[Symbol.for('platform.node')];
        const answers = [
          await failed(() => connect({ hostname: host, port }).opened),
          await failed(() => connect({ hostname: 'x' + env.PG.host, port }).opened),
          await failed(() => hooks.tcpOpen({ hostname: host, port, binding: 'PG' }).opened),
          await failed(() => hooks.tcpOpen({ hostname: 'pool', port, binding: 'OTHER' }).opened),
          String(env.OTHER), String(env.DATABASE_URL), String(env.vars.DATABASE_URL),
        ];
        return Response.json({ answers, who: await asked(env.PG, 'who'), address: env.PG.ip === ip });
      }
      const client = new Client(env.PG);
      await client.send(first(80877102, new Uint8Array(key)));
      return new Response(await client.outcome());`,
      poolClient,
    ),
    owner: attacker(
      `if (url.searchParams.has('sleep')) {
        const client = await opened(env.PG);
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        ctx.waitUntil((async () => { await writer.write(encode(JSON.stringify([...client.key]) + '\\n')); await writer.write(encode(await client.query('sleep'))); await writer.close(); })());
        return new Response(readable);
      }
      const { host, ip, port, password } = env.PG;
      return Response.json({ host, ip, port, password, who: await asked(env.PG, 'who') });`,
      poolClient,
    ),
  },
  vars: { attacker: { DATABASE_URL: url }, owner: { DATABASE_URL: url } },
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_DNS_SERVERS: '127.0.0.1:1' },
  async attack({ platform }) {
    const ask = async (project: string, body?: unknown) =>
      (
        await platform.fetch(
          project,
          '/attack',
          body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
        )
      ).text;
    const owner = JSON.parse(await ask('owner')) as { who: string };
    const { answers, who } = JSON.parse(await ask('attacker', owner)) as { answers: string[]; who: string };
    const reached = answers.filter((answer) => answer === 'done' || answer.startsWith('postgres'));
    const cancelled = await ask('attacker', { key: [0, 0, 0, 1, 0, 0, 0, 7] });
    return JSON.stringify([reached, who !== owner.who, cancelled, server.cancelled]);
  },
  expect: '[[],true,"closed",0]',
} satisfies Attack;
