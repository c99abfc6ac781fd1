// A console without end: what is over the bound is not kept.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const text = 'x'.repeat(1e5); for (let i = 0; i < 20_000; i++) console.log(text); return new Response('done');`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '3000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: ['200 done', '500 cpu_limit_exceeded'],
} satisfies Attack;
