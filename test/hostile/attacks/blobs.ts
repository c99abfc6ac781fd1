// Blobs of Blobs.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `let blob = new Blob([new Uint8Array(1e6).fill(1)]); const all = []; for (;;) { blob = new Blob([blob, blob]); all.push(await blob.arrayBuffer()); }`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: { must: [], may: ['500 memory_limit_exceeded', '500 worker_threw', '503 isolate_replaced'] },
} satisfies Attack;
