// A stream whose queue has no bound and no reader.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const { writable } = new TransformStream({}, { highWaterMark: Infinity }, { highWaterMark: Infinity }); const writer = writable.getWriter(); for (let i = 0; ; i++) { writer.write(new Uint8Array(1e6).fill(1)); if (i % 10 === 0) await null; }`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: { must: [], may: ['500 memory_limit_exceeded', '500 worker_threw', '503 isolate_replaced'] },
} satisfies Attack;
