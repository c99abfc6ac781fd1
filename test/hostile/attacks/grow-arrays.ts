// Arrays of objects without end.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(`const all = []; for (;;) all.push(new Array(10_000).fill({ a: all.length }));`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: '500 memory_limit_exceeded',
} satisfies Attack;
