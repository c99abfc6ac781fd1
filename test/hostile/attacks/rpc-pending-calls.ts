// A million calls at once over one stub, none of them answered.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const stub = await ctx.exports.Slow.open();
    let failed = 0;
    for (let i = 0; i < 1_000_000; i++) stub.never().catch(() => failed++);
    await scheduler.wait(100);
    return new Response(failed > 0 ? 'refused' : 'all');`,
    `import { RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';
    class Target extends RpcTarget { never() { return new Promise(() => {}); } }
    export class Slow extends WorkerEntrypoint { open() { return new Target(); } }`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 2000, waitMs: 40_000 }),
  expect: {
    must: [],
    may: [
      '200 refused',
      '500 memory_limit_exceeded',
      '500 cpu_limit_exceeded',
      '500 worker_threw',
      '503 isolate_replaced',
    ],
  },
} satisfies Attack;
