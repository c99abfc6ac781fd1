// A response whose header is 100 MB.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(`return new Response('x', { headers: { 'x-big': 'y'.repeat(1e8) } });`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: { must: [], may: ['500 worker_threw', '500 memory_limit_exceeded', '503 isolate_replaced'] },
} satisfies Attack;
