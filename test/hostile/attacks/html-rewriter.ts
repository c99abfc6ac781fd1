// An HTML text without end of one tag.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const chunk = new TextEncoder().encode('<' + 'a '.repeat(50_000)); let sent = 0; const body = new ReadableStream({ pull(c) { if (sent++ > 2000) c.close(); else c.enqueue(chunk); } }); const out = new HTMLRewriter().on('p', { element() {} }).transform(new Response(body)); return new Response('read ' + (await out.text()).length);`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: {
    must: [],
    may: ['500 cpu_limit_exceeded', '500 memory_limit_exceeded', '500 worker_threw', '503 isolate_replaced'],
  },
} satisfies Attack;
