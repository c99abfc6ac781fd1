// Ten thousand sockets of one request: some are opened, the others are refused by a limit.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const server = createServer((socket) => void socket.on('error', () => {}).resume());
await once(server.listen(0, '127.0.0.1').unref(), 'listening');
const { port } = server.address() as AddressInfo;

export default {
  kind: 'protocol',
  worker: attacker(
    `const codes = await Promise.all(Array.from({ length: 9_000 }, () => connect('127.0.0.1:${port}').opened.then(() => 'open', ({ code }) => code)));
    const opened = codes.filter((code) => code === 'open').length;
    const known = ['open', 'subrequest_limit_exceeded', 'quota_exceeded', 'host_memory_exceeded', 'invalid_argument'];
    return new Response(opened > 0 && opened <= 1000 && codes.every((code) => known.includes(code)) ? 'held' : [...new Set(codes)].join());`,
    `import { connect } from 'cloudflare:sockets';`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_SUBREQUESTS_MAX: '20000', WORKER_CPU_LIMIT_MS_FREE: '5000' },
  attack: ({ get }) => get('/attack', { waitMs: 60_000 }),
  expect: ['200 held', '500 cpu_limit_exceeded'],
} satisfies Attack;
