// A response that promises more than it has, to be filled from the next one.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(
    `return new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(3)); c.close(); } }), { headers: { 'content-length': '100' } });`,
  ),
  attack: ({ get }) => get(),
  expect: ['200 ECONNRESET', 'ECONNRESET'],
} satisfies Attack;
