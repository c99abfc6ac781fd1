// A server outside that redirects to the metadata service. Loopback is allowed here, so that there is a server at all.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const answers = []; for (const to of ['http://169.254.169.254/', 'http://10.0.0.1/', '//192.168.0.1/', 'http://[fd00::1]/', 'http://0xa9fea9fe/']) { try { const response = await fetch(url.searchParams.get('server') + '?to=' + encodeURIComponent(to)); answers.push(response.status); } catch (error) { answers.push(error.code); } } return new Response([...new Set(answers)].join());`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback' },
  async attack({ get }) {
    const server = createServer((request, response) =>
      response.writeHead(302, { location: new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? '' }).end(),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      return await get(
        `/attack?server=${encodeURIComponent(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)}`,
      );
    } finally {
      server.close();
    }
  },
  expect: '200 egress_forbidden',
} satisfies Attack;
