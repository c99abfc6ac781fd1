// Hundreds of bodies from the cache that are opened and never read.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `await caches.default.put('http://attacker.localhost/big', new Response(new Uint8Array(4e6), { headers: { 'cache-control': 'max-age=60' } }));
    const held = [];
    try {
      for (let i = 0; i < 500; i++) held.push(await caches.default.match('http://attacker.localhost/big'));
    } catch (error) {
      return new Response(error.code);
    }
    return new Response('got ' + held.length);`,
  ),
  environment: { WORKER_HOST_MEMORY_MB: '64', WORKER_CPU_LIMIT_MS_FREE: '5000' },
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 1500 }),
  expect: {
    must: ['200 host_memory_exceeded'],
    may: ['500 memory_limit_exceeded', '500 worker_threw', '503 isolate_replaced'],
  },
  growthMbMax: 350,
} satisfies Attack;
