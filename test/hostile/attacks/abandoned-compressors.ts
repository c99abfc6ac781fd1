// Compressors that requests keep in a variable of the module and leave open: each has to end with its request, so that
// the next is served.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const stream = zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 9, [zlib.constants.BROTLI_PARAM_LGWIN]: 18 } });
    held.push(stream);
    stream.on('error', () => {}).resume();
    stream.write(bytes);
    const error = await new Promise((resolve) => stream.flush(resolve));
    return new Response(error ? error.code : 'left');`,
    `import zlib from 'node:zlib'; const held = []; let bytes = new Uint8Array(65536).map((_, i) => (i * 7919) >> 5);`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000', WORKER_HOST_MEMORY_MB: '64' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 2000 }),
  expect: '200 left',
  growthMbMax: 150,
} satisfies Attack;
