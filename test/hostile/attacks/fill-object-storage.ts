// A durable object that stores without end: it begins again at the bound of its storage, with what fits.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  yaml: 'object: { BOX: Box }\n',
  environment: { DB_MAX_OBJECT_BYTES: '2000000' },
  worker: attacker(
    `try { await env.BOX.getByName('box').fill(); return new Response('no bound'); } catch (error) { return new Response(error.code ?? error.message); }`,
    `import { DurableObject } from 'cloudflare:workers';
export class Box extends DurableObject {
  async fill() {
    for (let at = 0; ; at++) {
      this.ctx.storage.put('key-' + at, 'x'.repeat(600_000));
      await this.ctx.storage.sync();
    }
  }
}`,
  ),
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 2500 }),
  // One that fills it slowly ends at its CPU budget before.
  expect: { must: [], may: ['200 object_reset', '200 cpu_limit_exceeded', '200 isolate_replaced'] },
} satisfies Attack;
