// Timers without end, each holding an array.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(`for (;;) { const held = new Array(1000).fill(1); setTimeout(() => held, 60_000); }`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: ['500 memory_limit_exceeded', '500 worker_threw'],
} satisfies Attack;
