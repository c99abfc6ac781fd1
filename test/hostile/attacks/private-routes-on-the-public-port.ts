// The routes of the private port, asked on the public one.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: attacker(`return new Response('x');`),
  async attack({ raw }) {
    const seen = new Set<string>();
    for (const path of ['/_platform/health', '/_platform/status', '/_platform/deliver', '/metrics'])
      for (const host of ['localhost', '127.0.0.1', 'attacker.localhost'])
        seen.add(
          (await raw(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, 500)).match(
            /engines|"live"|isolates|# TYPE/,
          )?.[0] ?? 'nothing',
        );
    return [...seen].join();
  },
  expect: 'nothing',
} satisfies Attack;
