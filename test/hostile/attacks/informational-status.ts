// Status 101 without a handshake.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response(null, { status: 101 });`),
  attack: ({ get }) => get(),
  expect: ['500 worker_threw', '500 illegal_response'],
} satisfies Attack;
