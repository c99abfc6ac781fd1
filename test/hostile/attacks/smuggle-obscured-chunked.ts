// transfer-encoding in spellings that proxies read in different ways.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('got ' + (await request.text()).length);`),
  async attack({ raw }) {
    const seen = new Set<string>();
    for (const line of [
      'transfer-encoding : chunked',
      'transfer-encoding: xchunked',
      'transfer-encoding:\x0bchunked',
      'transfer-encoding: chunked, identity',
      ' transfer-encoding: chunked',
      'x: y\rtransfer-encoding: chunked',
    ])
      seen.add(
        (await raw(`POST /attack HTTP/1.1\r\nhost: attacker.localhost\r\n${line}\r\n\r\n0\r\n\r\n`, 300)).slice(0, 12),
      );
    return [...seen].sort().join(', ');
  },
  expect: 'HTTP/1.1 400',
} satisfies Attack;
