// A status that is none.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('x', { status: 999 });`),
  attack: ({ get }) => get(),
  expect: '500 worker_threw',
} satisfies Attack;
