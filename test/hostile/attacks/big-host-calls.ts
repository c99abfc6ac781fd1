// Slow calls to the host with a megabyte each, begun a hundred at a time and never awaited.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `let refused = 0;
    for (let i = 0; i < 100; i++) {
      const bytes = new Uint8Array(1e6).fill(i);
      promisify(zlib.brotliCompress)(bytes).catch((error) => { if (error.code === 'host_memory_exceeded') refused++; });
      await scheduler.wait(1);
    }
    await scheduler.wait(100);
    return new Response(refused > 0 ? 'refused' : 'all');`,
    `import zlib from 'node:zlib'; import { promisify } from 'node:util';`,
  ),
  environment: { WORKER_HOST_MEMORY_MB: '64', WORKER_CPU_LIMIT_MS_FREE: '20000' },
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 2000, waitMs: 40_000 }),
  expect: {
    must: [],
    may: [
      '200 refused',
      '500 memory_limit_exceeded',
      '500 cpu_limit_exceeded',
      '500 worker_threw',
      '503 isolate_replaced',
    ],
  },
  growthMbMax: 250,
} satisfies Attack;
