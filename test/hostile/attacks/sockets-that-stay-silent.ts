// Servers that accept and never answer, with and without TLS, and one that sends a byte from time to time: the wall
// limit ends what waits for them.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const silent = createServer((socket) => void socket.on('error', () => {}))
  .listen(0, '127.0.0.1')
  .unref();
const slow = createServer((socket) => {
  const timer = setInterval(() => socket.write('x'), 200);
  socket.on('error', () => {}).on('close', () => clearInterval(timer));
})
  .listen(0, '127.0.0.1')
  .unref();
await Promise.all([once(silent, 'listening'), once(slow, 'listening')]);
const portOf = (server: typeof silent): number => (server.address() as AddressInfo).port;

export default {
  kind: 'protocol',
  worker: attacker(
    `const socket = connect('127.0.0.1:' + url.searchParams.get('port'), { secureTransport: url.searchParams.get('tls') ?? 'off' }); let bytes = 0; for await (const chunk of socket.readable) bytes += chunk.length; return new Response('all of ' + bytes);`,
    `import { connect } from 'cloudflare:sockets';`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_WALL_LIMIT_MS: '1000' },
  async attack({ get }) {
    const paths = [`?port=${portOf(silent)}`, `?port=${portOf(silent)}&tls=on`, `?port=${portOf(slow)}`];
    return (await Promise.all(paths.map((path) => get(`/attack${path}`)))).join();
  },
  expect: ['504 wall_limit_exceeded,504 wall_limit_exceeded,504 wall_limit_exceeded'],
} satisfies Attack;
