// A response that has more than it promises: the rest would be the next response.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(
    `return new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('abcHTTP/1.1 200 OK\\r\\n\\r\\nforged')); c.close(); } }), { headers: { 'content-length': '3' } });`,
  ),
  attack: ({ get }) => get(),
  expect: ['200 ECONNRESET', 'ECONNRESET'],
} satisfies Attack;
