// Both content-length and transfer-encoding.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('got ' + (await request.text()).length);`),
  async attack({ raw }) {
    const text = await raw(
      'POST /attack HTTP/1.1\r\nhost: attacker.localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nhost: victim.localhost\r\n\r\n',
    );
    return text.slice(0, 12);
  },
  expect: 'HTTP/1.1 400',
} satisfies Attack;
