// Growable SharedArrayBuffers, kept: V8 counts none of them. Some hide behind a clone, some behind a subclass.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const kept = []; class Mine extends SharedArrayBuffer {}
    try { for (let i = 0; i < 200; i++) { let buffer = new (i % 2 ? Mine : SharedArrayBuffer)(1, { maxByteLength: 2 ** 24 }); buffer.grow(2 ** 24); new Uint8Array(buffer).fill(1); if (i % 3 === 0) buffer = structuredClone(buffer); kept.push(buffer); } } catch (error) { return new Response(error.name + ' with ' + (kept.length <= 4 ? 'no more than its memory' : kept.length + ' buffers')); }
    return new Response('got ' + kept.length);`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: '200 RangeError with no more than its memory',
} satisfies Attack;
