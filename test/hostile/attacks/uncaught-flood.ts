// A hundred thousand rejections that nobody handles.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `for (let i = 0; i < 100_000; i++) Promise.reject(new Error('x'.repeat(100))); return new Response('done');`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: {
    must: [],
    may: [
      '200 done',
      '500 cpu_limit_exceeded',
      '500 memory_limit_exceeded',
      '503 deployment_quarantined',
      '503 isolate_replaced',
    ],
  },
} satisfies Attack;
