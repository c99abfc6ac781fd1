// Durable objects whose constructors never end, or throw: each call ends at its budget, or with what was thrown.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  yaml: 'object: { SPIN: Spin, THROW: Throw }\n',
  worker: attacker(
    `try { await env[url.searchParams.get('class')].getByName('a').any(); return new Response('made'); } catch (error) { return new Response(error.code ?? error.message); }`,
    `import { DurableObject } from 'cloudflare:workers';
export class Spin extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    for (;;);
  }
  any() {}
}
export class Throw extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    throw new Error('thrown');
  }
  any() {}
}`,
  ),
  async attack({ flood }) {
    const spun = await flood('/attack?class=SPIN', { clients: 2, ms: 1500 });
    const thrown = await flood('/attack?class=THROW', { clients: 2, ms: 500 });
    return `${spun} and ${thrown}`;
  },
  expect: ['200 cpu_limit_exceeded and 200 thrown', '200 cpu_limit_exceeded, 200 isolate_replaced and 200 thrown'],
} satisfies Attack;
