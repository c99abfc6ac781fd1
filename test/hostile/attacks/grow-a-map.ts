// A Map that grows: its table is enlarged inside V8, where no limit can end it.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  kills: true,
  worker: attacker(`const map = new Map(); for (let i = 0; ; i++) map.set(i, { i });`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000', WORKER_WALL_LIMIT_MS: '20000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: [
    '500 memory_limit_exceeded',
    '503 isolate_replaced',
    'ECONNREFUSED',
    'ECONNRESET',
    '500 memory_limit_exceeded, 503 isolate_replaced',
    '500 memory_limit_exceeded, ECONNREFUSED',
    '500 memory_limit_exceeded, ECONNRESET',
    '503 isolate_replaced, ECONNREFUSED',
    '503 isolate_replaced, ECONNRESET',
    'ECONNREFUSED, ECONNRESET',
    '500 memory_limit_exceeded, 503 isolate_replaced, ECONNREFUSED',
    '500 memory_limit_exceeded, 503 isolate_replaced, ECONNRESET',
    '500 memory_limit_exceeded, ECONNREFUSED, ECONNRESET',
    '503 isolate_replaced, ECONNREFUSED, ECONNRESET',
    '500 memory_limit_exceeded, 503 isolate_replaced, ECONNREFUSED, ECONNRESET',
    '500 memory_limit_exceeded',
  ],
} satisfies Attack;
