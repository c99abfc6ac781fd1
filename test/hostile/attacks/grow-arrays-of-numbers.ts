// Arrays of numbers, kept for ever, in a loop around a loop: V8 may take the check for interrupts out of it, and then
// it goes on after its isolate was ended.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(`for (const kept = []; ;) kept.push(new Array(1000).fill(kept.length));`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 2000 }),
  expect: '500 memory_limit_exceeded',
  growthMbMax: 500,
} satisfies Attack;
