// Chunk sizes that are none.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('got ' + (await request.text()).length);`),
  async attack({ raw }) {
    const seen = new Set<string>();
    for (const chunk of [
      'zz\r\n',
      '-1\r\nx\r\n',
      'fffffffffffffffff\r\nx',
      '5\nhello',
      '5 \r\nhello\r\n',
      '0x5\r\nhello\r\n',
    ])
      seen.add(
        (
          await raw(
            `POST /attack HTTP/1.1\r\nhost: attacker.localhost\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`,
            300,
          )
        ).slice(0, 12),
      );
    return [...seen].sort().join(', ');
  },
  expect: ['HTTP/1.1 400', ', HTTP/1.1 400'],
} satisfies Attack;
