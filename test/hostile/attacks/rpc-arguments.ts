// Calls of the worker's own entrypoints with 30 MB each, which no entrypoint reads, and one with 100 MB.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const bytes = new Uint8Array(30e6);
    const failures = [];
    for (let i = 0; i < 20; i++) ctx.exports.Sink.hold(bytes).catch((error) => failures.push(error.message));
    await ctx.exports.Sink.hold(new Uint8Array(100e6)).catch((error) => failures.push(error.message));
    await scheduler.wait(200);
    return new Response(failures.length > 0 ? 'refused' : 'all');`,
    `import { WorkerEntrypoint } from 'cloudflare:workers';
    export class Sink extends WorkerEntrypoint { hold() { return new Promise(() => {}); } }`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000', WORKER_HOST_MEMORY_MB: '64' },
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 2000, waitMs: 40_000 }),
  expect: {
    must: [],
    may: [
      '200 refused',
      '500 memory_limit_exceeded',
      '500 cpu_limit_exceeded',
      '500 worker_threw',
      '503 isolate_replaced',
      '500 isolate_replaced',
    ],
  },
  growthMbMax: 400,
} satisfies Attack;
