// A response header with a line break, to smuggle in another.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('x', { headers: { 'x-a': 'b\\r\\nset-cookie: stolen=1' } });`),
  attack: ({ get }) => get(),
  expect: '500 worker_threw',
} satisfies Attack;
