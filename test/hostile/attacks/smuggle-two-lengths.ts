// Two lengths that differ.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('got ' + (await request.text()).length);`),
  async attack({ raw }) {
    return (
      await raw(
        'POST /attack HTTP/1.1\r\nhost: attacker.localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!',
      )
    ).slice(0, 12);
  },
  expect: 'HTTP/1.1 400',
} satisfies Attack;
