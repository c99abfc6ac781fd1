// Ten thousand requests on one connection before the first answer is read: the first 256 are answered, and the
// connection ends.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    const text = await raw('GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\n\r\n'.repeat(10_000), 5000);
    const answers = text.match(/HTTP\/1\.1 \d+/g) ?? [];
    return `${answers.length} ${[...new Set(answers)].sort().join(', ')}`;
  },
  expect: '256 HTTP/1.1 200',
} satisfies Attack;
