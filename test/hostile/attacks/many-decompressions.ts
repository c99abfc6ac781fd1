// Hundreds of small inputs at a time that each unpack to 60 MB, and none of them awaited alone.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `bomb ??= await promisify(zlib.brotliCompress)(new Uint8Array(4e6), { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } });
    const all = await Promise.all(Array.from({ length: 200 }, () => promisify(zlib.brotliDecompress)(bomb).then((bytes) => 'got ' + bytes.length, (error) => error.code)));
    return new Response(all.includes('host_memory_exceeded') ? 'refused' : 'all');`,
    `import zlib from 'node:zlib'; import { promisify } from 'node:util'; let bomb;`,
  ),
  environment: { WORKER_HOST_MEMORY_MB: '64', WORKER_CPU_LIMIT_MS_FREE: '20000' },
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 2000, waitMs: 40_000 }),
  expect: { must: [], may: ['200 refused', '500 memory_limit_exceeded', '500 worker_threw', '503 isolate_replaced'] },
  growthMbMax: 350,
} satisfies Attack;
