// JSON text of a million keys: a heap overflow inside V8.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  kills: true,
  worker: attacker(
    `const all = {}; for (let i = 0; i < 1e6; i++) all['key' + i] = { i }; return new Response(String(JSON.stringify(all).length));`,
  ),
  // Collections before the overflow take CPU, too: the heap is to end it.
  environment: { WORKER_CPU_LIMIT_MS_FREE: '10000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: {
    must: [],
    may: ['500 memory_limit_exceeded', '503 deployment_quarantined', '503 isolate_replaced', 'ECONNRESET'],
  },
} satisfies Attack;
