// Host calls without end, none of them awaited.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const all = []; for (let i = 0; i < 200_000; i++) all.push(crypto.subtle.importKey('raw', new Uint8Array(5000), 'HKDF', false, ['deriveBits']).catch((error) => error.message)); const done = await Promise.all(all); return new Response(done.some((x) => typeof x === 'string') ? 'refused' : 'all ' + done.length);`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '3000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 3000, waitMs: 40_000 }),
  expect: {
    must: [],
    may: [
      '200 refused',
      '500 memory_limit_exceeded',
      '500 worker_threw',
      '500 cpu_limit_exceeded',
      '504 wall_limit_exceeded',
      '503 isolate_replaced',
    ],
  },
} satisfies Attack;
