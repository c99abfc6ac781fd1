// A Map that grows: its table is enlarged inside V8, where no limit can end it.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  kills: true,
  worker: attacker(`const map = new Map(); for (let i = 0; ; i++) map.set(i, { i });`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: {
    must: [],
    may: ['500 memory_limit_exceeded', '503 deployment_quarantined', '503 isolate_replaced', 'ECONNRESET'],
  },
} satisfies Attack;
