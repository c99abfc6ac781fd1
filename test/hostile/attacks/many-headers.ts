// A hundred thousand request headers.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    return (await raw(`GET / HTTP/1.1\r\nhost: attacker.localhost\r\n${'a: b\r\n'.repeat(100_000)}\r\n`, 1000)).slice(
      0,
      12,
    );
  },
  expect: 'HTTP/1.1 431',
} satisfies Attack;
