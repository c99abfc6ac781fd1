// Compressors with the largest window, each flushed once so that all of it is there, kept by the isolate and never
// ended.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `for (let i = 0; i < 40; i++) {
      const stream = zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 9, [zlib.constants.BROTLI_PARAM_LGWIN]: 24 } });
      held.push(stream);
      stream.on('error', () => {}).resume();
      stream.write(bytes);
      const error = await new Promise((resolve) => stream.flush(resolve));
      if (error) return new Response(error.code);
    }
    return new Response('got ' + held.length);`,
    `import zlib from 'node:zlib'; const held = []; let bytes = new Uint8Array(65536).map((_, i) => (i * 7919) >> 5);`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000' },
  attack: ({ flood }) => flood('/attack', { clients: 3, ms: 2000 }),
  expect: '200 host_memory_exceeded',
  growthMbMax: 250,
} satisfies Attack;
