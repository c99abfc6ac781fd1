// Clones of a large object.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const big = Array.from({ length: 50_000 }, (_, i) => ({ i, t: 'x'.repeat(20) })); const all = []; for (;;) all.push(structuredClone(big));`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: {
    must: [],
    may: ['500 memory_limit_exceeded', '503 deployment_quarantined', '503 isolate_replaced', 'ECONNRESET'],
  },
} satisfies Attack;
