// Expect: 100-continue without a body to follow.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('refused', { status: 403 });`),
  async attack({ raw }) {
    return (
      await raw(
        'POST /attack HTTP/1.1\r\nhost: attacker.localhost\r\ncontent-length: 100000\r\nexpect: 100-continue\r\n\r\n',
      )
    ).slice(0, 12);
  },
  expect: 'HTTP/1.1 100',
} satisfies Attack;
