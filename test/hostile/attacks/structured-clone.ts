// Clones of a large object.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const big = Array.from({ length: 50_000 }, (_, i) => ({ i, t: 'x'.repeat(20) })); const all = []; for (;;) all.push(structuredClone(big));`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000', WORKER_WALL_LIMIT_MS: '20000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: [
    '500 memory_limit_exceeded',
    '503 isolate_replaced',
    'ECONNRESET',
    '500 memory_limit_exceeded, 503 isolate_replaced',
    '500 memory_limit_exceeded, ECONNRESET',
    '503 isolate_replaced, ECONNRESET',
    '500 memory_limit_exceeded, 503 isolate_replaced, ECONNRESET',
  ],
} satisfies Attack;
