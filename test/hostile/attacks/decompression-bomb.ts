// Ten megabytes of zeros compressed a thousand times over, decompressed into one array.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const zipped = new Uint8Array(await new Response(new Blob([new Uint8Array(1e7)]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer()); const all = []; for (let i = 0; i < 200; i++) all.push(await new Response(new Blob([zipped]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()); return new Response('got ' + all.length);`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 2500 }),
  expect: {
    must: [],
    may: ['500 cpu_limit_exceeded', '500 memory_limit_exceeded', '500 worker_threw', '503 isolate_replaced'],
  },
} satisfies Attack;
