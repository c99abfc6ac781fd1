// Wasm memories that modules define and grow themselves: no JavaScript sees it.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const bytes = new Uint8Array([0,97,115,109,1,0,0,0,1,6,1,96,1,127,1,127,3,2,1,0,5,3,1,0,1,7,9,2,1,103,0,0,1,109,2,0,10,8,1,6,0,32,0,64,0,11]); const module = new WebAssembly.Module(bytes); const all = []; let got = 0; for (let i = 0; i < 60; i++) { const { g, m } = new WebAssembly.Instance(module).exports; if (g(255) < 0) throw new Error('refused'); new Uint8Array(m.buffer).fill(1); all.push(m); got++; } return new Response('got ' + got);`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: ['500 worker_threw', '500 memory_limit_exceeded'],
} satisfies Attack;
