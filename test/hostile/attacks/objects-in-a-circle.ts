// Durable objects that call each other in a circle, and others without end: each chain ends at the depth of calls.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  yaml: 'object: { RING: Ring }\n',
  worker: attacker(
    `const name = url.searchParams.get('name'); try { await env.RING.getByName(name).next(name); return new Response('no bound'); } catch (error) { return new Response(error.code ?? error.message); }`,
    `import { DurableObject } from 'cloudflare:workers';
export class Ring extends DurableObject {
  next(name) {
    const to = name === 'many' ? crypto.randomUUID() : this.ctx.id.name === 'a' ? 'b' : 'a';
    return this.env.RING.getByName(to).next(name);
  }
}`,
  ),
  async attack({ flood }) {
    const two = await flood('/attack?name=a', { clients: 4, ms: 1500 });
    const many = await flood('/attack?name=many', { clients: 4, ms: 1500 });
    return `${two} and ${many}`;
  },
  expect: '200 loop_detected and 200 loop_detected',
} satisfies Attack;
