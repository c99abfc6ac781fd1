// Ten thousand requests on one connection before the first answer is read.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    const text = await raw('GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\n\r\n'.repeat(10_000), 1000);
    return [...new Set(text.match(/HTTP\/1\.1 \d+/g) ?? [])].sort().join(', ');
  },
  expect: ['HTTP/1.1 200', 'HTTP/1.1 200, HTTP/1.1 503'],
} satisfies Attack;
