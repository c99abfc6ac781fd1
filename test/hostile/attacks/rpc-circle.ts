// An entrypoint that calls itself twice in each call: without a bound, a million calls at depth 20.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  worker: attacker(
    `return new Response(await ctx.exports.Circle.again(0).then(String, (error) => error.code));`,
    `import { WorkerEntrypoint } from 'cloudflare:workers';
    export class Circle extends WorkerEntrypoint {
      again(depth) {
        const { Circle } = this.ctx.exports;
        return Promise.all([Circle.again(depth + 1), Circle.again(depth + 1)]).then(() => depth);
      }
    }`,
  ),
  environment: { HANDLER_REQUESTS_PER_DEPLOYMENT_MAX: '200' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 2000, waitMs: 40_000 }),
  expect: {
    must: [],
    may: [
      '200 service_depth_exceeded',
      '200 overloaded',
      '200 service_failed',
      '200 cpu_limit_exceeded',
      '200 isolate_replaced',
      '200 memory_limit_exceeded',
      '500 cpu_limit_exceeded',
      '500 memory_limit_exceeded',
      '503 isolate_replaced',
      '503 overloaded',
    ],
  },
} satisfies Attack;
