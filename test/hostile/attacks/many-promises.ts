// Promises that never settle, held by what waits for them.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(`const all = []; for (;;) { const p = new Promise(() => {}); all.push(p.then(() => 1)); }`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: { must: [], may: ['500 memory_limit_exceeded', '503 deployment_quarantined', '503 isolate_replaced'] },
} satisfies Attack;
