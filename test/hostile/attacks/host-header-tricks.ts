// Host headers that should name no project, or not another one.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    const seen = new Set<string>();
    for (const host of [
      'victim.localhost@attacker.localhost',
      'victim.localhost.evil.com',
      '../victim',
      'victim.localhost/..',
      'victim%2elocalhost',
      'victim..localhost',
      '.localhost',
      'localhost',
      '',
      'victim.localhost:99999',
      'victim.localhost\tx',
      'victim--x.localhost',
      '[::1]',
      '*',
    ])
      seen.add(
        (await raw(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, 300))
          .replace(/^HTTP\/1\.1 (\d+)[\s\S]*?(unhurt)?$/, '$1 $2')
          .trim(),
      );
    return [...seen].sort().join(', ');
  },
  expect: '400, 404',
} satisfies Attack;
