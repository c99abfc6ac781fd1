// An object nested a hundred thousand deep as what the platform writes down: an error, a log line, a response.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `let deep = {}; for (let i = 0; i < 1e5; i++) deep = { deep }; try { console.log(deep); structuredClone(deep); } catch {} throw deep;`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: '500 worker_threw',
} satisfies Attack;
