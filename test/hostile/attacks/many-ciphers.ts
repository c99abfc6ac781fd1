// Ciphers without end, each begun and kept, never finished.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const key = new Uint8Array(32);
    const iv = new Uint8Array(16);
    for (let i = 0; i < 5000; i++) {
      const cipher = createCipheriv('aes-256-cbc', key, iv);
      try { cipher.update(iv); } catch (error) { return new Response(error.code); }
      held.push(cipher);
    }
    return new Response('all');`,
    `import { createCipheriv } from 'node:crypto'; const held = [];`,
  ),
  environment: { WORKER_HOST_MEMORY_MB: '4', WORKER_CPU_LIMIT_MS_FREE: '20000' },
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 1500 }),
  expect: { must: ['200 host_memory_exceeded'], may: ['500 cpu_limit_exceeded', '503 isolate_replaced'] },
  growthMbMax: 100,
} satisfies Attack;
