// Bytes that are no messages of Postgres, before and after the session has begun: each connection ends with an error
// or at once, and no byte of garbage reaches the server as a message.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient, poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

const server = await startPoolServer();

export default {
  kind: 'protocol',
  yaml: 'hyperdrive: { PG: DATABASE_URL }\n',
  worker: attacker(
    `const random = crypto.getRandomValues(new Uint8Array(20_000));
    random[0] = 255;
    const beginnings = {
      random, text: encode('GET / HTTP/1.1\\r\\n\\r\\n'), hello: new Uint8Array([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]),
      long: joined(int32(0x7fffffff), int32(196608)), short: joined(int32(4), int32(196608)), negative: joined(int32(-1), int32(196608)),
      version: first(0x30002, encode('user\\0a\\0\\0')), old: first(0x20000, encode('user\\0a\\0\\0')),
      open: first(196608, encode('user\\0a')), odd: first(196608, encode('user\\0a\\0b\\0\\0')),
      encryptions: joined(...Array(1000).fill(first(80877103, []))),
      replication: startup({ replication: 'database' }), extension: startup({ '_pq_.any': '1' }),
      many: startup(Object.fromEntries(Array.from({ length: 50 }, (_, at) => ['a' + at, '1']))),
      proto: startup({ __proto__: 'x', constructor: 'y' }),
      cancel: first(80877102, new Uint8Array(8)), cancels: joined(...Array(500).fill(first(80877102, new Uint8Array(8)))),
      longCancel: first(80877102, new Uint8Array(5000)),
    };
    const later = {
      random, type: message('~', [1]), password: message('p', encode('word\\0')), zero: joined(encode('Q'), int32(0)), one: joined(encode('Q'), int32(3)),
      negative: joined(encode('Q'), int32(-5)), startup: startup(),
    };
    const answers = new Set();
    for (const bytes of Object.values(beginnings)) {
      const client = new Client(env.PG);
      const outcome = client.outcome();
      await client.send(bytes).catch(() => {});
      if (client.rest.length === 0) await Promise.race([client.writer.close().catch(() => {}), outcome]);
      answers.add(await outcome);
    }
    for (const bytes of Object.values(later)) {
      const client = await opened(env.PG);
      await client.send(bytes).catch(() => {});
      answers.add(await client.outcome());
    }
    const known = ['08P01', '0A000', 'closed', 'ready', 'ECONNRESET'];
    const odd = [...answers].filter((answer) => !known.includes(answer));
    return new Response(odd.length === 0 ? 'refused' : odd.join().slice(0, 300));`,
    poolClient,
  ),
  vars: { attacker: { DATABASE_URL: poolUrl(server) } },
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ get }) => get(),
  expect: '200 refused',
} satisfies Attack;
