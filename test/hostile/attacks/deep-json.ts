// JSON nested a million deep.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `try { JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)); } catch (error) { return new Response(error.name); } return new Response('parsed');`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: ['200 RangeError', '200 parsed', '500 memory_limit_exceeded', '500 cpu_limit_exceeded'],
} satisfies Attack;
