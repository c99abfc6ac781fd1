// Wasm memories that are grown after they were made small.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const all = []; for (let i = 0; i < 60; i++) { const memory = new WebAssembly.Memory({ initial: 1 }); memory.grow(255); new Uint8Array(memory.buffer).fill(1); all.push(memory); } return new Response('got ' + all.length);`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: { must: [], may: ['500 worker_threw', '500 memory_limit_exceeded'] },
} satisfies Attack;
