// A body of 90 MB that is cloned, one branch read and the other not: the other would have to hold all of it.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  // What it holds ends it, also where reading 64 MB takes a tenth of a second.
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  worker: attacker(
    `const clone = request.clone(); let bytes = 0; for await (const chunk of request.body) bytes += chunk.length; return new Response('read ' + bytes + ' ' + (clone.body !== null));`,
  ),
  attack: ({ get }) => get('/attack', { method: 'POST', body: new Uint8Array(90_000_000) }),
  expect: ['500 memory_limit_exceeded', '500 worker_threw', 'ECONNRESET', 'EPIPE'],
} satisfies Attack;
