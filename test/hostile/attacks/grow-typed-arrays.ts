// Typed arrays, which lie outside the heap.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(`const all = []; for (;;) all.push(new Uint8Array(8_000_000).fill(1));`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: { must: [], may: ['500 worker_threw', '500 memory_limit_exceeded'] },
} satisfies Attack;
