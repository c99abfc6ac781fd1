// Bytes that are no HTTP: TLS, HTTP/2, zeros, noise.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    const seen = new Set<string>();
    for (const bytes of [
      Buffer.from('160301020001000', 'hex'),
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      Buffer.alloc(100_000),
      Buffer.alloc(10_000, 0xff),
      '\r\n'.repeat(10_000),
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
    ])
      seen.add((await raw(bytes, 300)).slice(0, 12));
    return [...seen]
      .filter((answer) => answer !== '')
      .sort()
      .join(', ');
  },
  expect: { must: [], may: ['HTTP/1.1 400', 'HTTP/1.1 505'] },
} satisfies Attack;
