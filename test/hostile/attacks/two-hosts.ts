// Two Host headers.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    return (await raw('GET / HTTP/1.1\r\nhost: attacker.localhost\r\nhost: victim.localhost\r\n\r\n', 300)).slice(
      0,
      12,
    );
  },
  expect: 'HTTP/1.1 400',
} satisfies Attack;
