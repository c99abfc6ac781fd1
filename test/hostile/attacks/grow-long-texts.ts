// Long texts of one byte a character, which lie outside the heap: half of them held, the others to be collected.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const bytes = new Uint8Array(1_000_000).fill(97);
    const decoder = new TextDecoder();
    const all = [];
    for (;;) if (decoder.decode(bytes).length % 2 === 0) { all.push(decoder.decode(bytes)); decoder.decode(bytes); }`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: { must: [], may: ['500 worker_threw', '500 memory_limit_exceeded'] },
} satisfies Attack;
