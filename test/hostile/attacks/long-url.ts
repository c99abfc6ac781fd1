// A URL of a megabyte.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    return (await raw(`GET /${'a'.repeat(1e6)} HTTP/1.1\r\nhost: attacker.localhost\r\n\r\n`, 1000)).slice(0, 12);
  },
  expect: ['HTTP/1.1 414', 'HTTP/1.1 431', ''],
} satisfies Attack;
