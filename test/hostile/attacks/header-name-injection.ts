// A header name with a colon and a break.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(
    `const headers = new Headers(); headers.set('x-a: b\\r\\nx-c', 'd'); return new Response('x', { headers });`,
  ),
  attack: ({ get }) => get(),
  expect: '500 worker_threw',
} satisfies Attack;
