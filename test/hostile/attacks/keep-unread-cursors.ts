// SQL of a durable object whose rows nobody reads, kept by the thousand: rows count as memory of its isolate.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  yaml: 'object: { BOX: Box }\n',
  worker: attacker(
    `try { await env.BOX.getByName('box').hoard(); return new Response('no bound'); } catch (error) { return new Response(error.code ?? error.message); }`,
    `import { DurableObject } from 'cloudflare:workers';
const kept = [];
export class Box extends DurableObject {
  hoard() {
    for (;;)
      kept.push(this.ctx.storage.sql.exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i, hex(randomblob(250)) AS text FROM n"));
  }
}`,
  ),
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 2500 }),
  expect: { must: [], may: ['200 memory_limit_exceeded', '200 cpu_limit_exceeded', '200 isolate_replaced'] },
} satisfies Attack;
