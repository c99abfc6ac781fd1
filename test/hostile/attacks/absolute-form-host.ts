// A request line that names one host and a Host header that names another.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: attacker(`return new Response('attacker sees ' + url.host);`),
  async attack({ raw }) {
    const text = await raw(
      'GET http://victim.localhost/attack HTTP/1.1\r\nhost: attacker.localhost\r\nconnection: close\r\n\r\n',
      500,
    );
    return text.split('\r\n\r\n')[1] ?? '';
  },
  expect: ['unhurt', 'attacker sees attacker.localhost'],
} satisfies Attack;
