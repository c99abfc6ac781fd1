// Paths that climb out of a folder.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    const seen = new Set<string>();
    for (const path of [
      '/../../../../etc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/..%2f..%2fetc/passwd',
      '/..\\..\\etc',
      '//etc/passwd',
      '/%00',
      '/_platform/status',
      '/_platform/deliver',
      '/.env',
    ])
      seen.add(
        /root:/.test(await raw(`GET ${path} HTTP/1.1\r\nhost: attacker.localhost\r\nconnection: close\r\n\r\n`, 500))
          ? 'leaked'
          : 'nothing',
      );
    return [...seen].join();
  },
  expect: 'nothing',
} satisfies Attack;
