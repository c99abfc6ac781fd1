// A string that doubles.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `let text = 'x'.repeat(1000); const all = []; for (;;) { all.push((text + all.length).split('').join('-')); }`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: '500 memory_limit_exceeded',
} satisfies Attack;
