// A FinalizationRegistry's callback, which belongs to no request.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const worker = attacker(
  `const registry = (globalThis.registry ??= new FinalizationRegistry(() => { for (;;); })); for (let i = 0; i < 1000; i++) registry.register({}, i); let garbage = []; for (let i = 0; i < 50; i++) { garbage = new Array(100_000).fill(i); await scheduler.wait(1); } return new Response('done');`,
);

export default {
  kind: 'cpu',
  worker: { attacker: worker, accomplice: worker },
  environment: { WORKER_CPU_LIMIT_MS_FREE: '1000' },
  attack: async ({ flood }) =>
    (await flood('/attack', { clients: 2, ms: 1500 }))
      .split(', ')
      .every((answer) =>
        ['200 done', '500 cpu_limit_exceeded', '503 isolate_replaced', '500 memory_limit_exceeded'].includes(answer),
      )
      ? 'fenced'
      : 'not fenced',
  expect: 'fenced',
} satisfies Attack;
