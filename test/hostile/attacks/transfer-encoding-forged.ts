// A response that frames itself as chunks.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(
    `return new Response('5\\r\\nhello\\r\\n0\\r\\n\\r\\n', { headers: { 'transfer-encoding': 'chunked', connection: 'upgrade', 'content-length': '5' } });`,
  ),
  async attack({ raw }) {
    const text = await raw('GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\nconnection: close\r\n\r\n');
    return [/transfer-encoding/i.test(text), text.split('\r\n\r\n').length, text.endsWith('0\r\n\r\n')].join(' ');
  },
  expect: 'false 3 true',
} satisfies Attack;
