// A COPY of a gigabyte into the server, and one out of it that nobody reads: bytes wait on both sides, and the engine
// holds no more than its windows.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient, poolUrl, startPoolServer } from '#test/setup/pool-server.ts';

const server = await startPoolServer();
const BYTES = 1024 * 1024 * 1024;

export default {
  kind: 'memory',
  yaml: 'hyperdrive: { PG: DATABASE_URL }\n',
  worker: attacker(
    `const unread = await opened(env.PG);
    await unread.send(message('Q', encode('copy out ${BYTES}\\0')));
    const client = await opened(env.PG);
    await client.send(message('Q', encode('copy in\\0')));
    await client.until('G');
    const piece = new Uint8Array(1024 * 1024 + 5);
    piece[0] = 100;
    piece.set(int32(piece.length - 1), 1);
    for (let sent = 0; sent < ${BYTES}; sent += piece.length) await client.send(piece);
    await client.send(message('c', []));
    return new Response('copied ' + await client.until('Z'));`,
    poolClient,
  ),
  vars: { attacker: { DATABASE_URL: poolUrl(server) } },
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_CPU_LIMIT_MS_FREE: '30000', WORKER_WALL_LIMIT_MS: '60000' },
  attack: async ({ get }) => {
    const answer = await get('/attack', { waitMs: 60_000 });
    return `${answer.trim()}, ${server.copied > 0.99 * BYTES ? 'all' : server.copied}`;
  },
  expect: '200 copied, all',
  growthMbMax: 120,
} satisfies Attack;
