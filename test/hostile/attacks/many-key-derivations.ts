// scrypt with 128 MB each, twenty at a time.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const derive = () => new Promise((resolve) => scrypt('password', 'salt', 32, { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 30 }, (error) => resolve(error ? error.code : 'derived')));
    const all = await Promise.all(Array.from({ length: 20 }, derive));
    return new Response([...new Set(all)].sort().join(' and '));`,
    `import { scrypt } from 'node:crypto';`,
  ),
  environment: { WORKER_HOST_MEMORY_MB: '150', WORKER_CPU_LIMIT_MS_FREE: '20000' },
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 1500, waitMs: 40_000 }),
  expect: {
    must: [],
    may: ['200 derived and host_memory_exceeded', '200 host_memory_exceeded', '500 cpu_limit_exceeded'],
  },
  growthMbMax: 300,
} satisfies Attack;
